"""The names that a command line completes: traces, tables, views, caveats, named queries, parameters.

They are read off the package's own files, and those of the user in a warehouse's folder `local`. No database
is opened: it has to be quick at each press of a key. So it parses no SQL, and imports nothing but the
declarations of the tables.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from tracehouse.ingest import traces

_PACKAGE = Path(__file__).parents[1]
_VIEWS, _QUERIES, _TRACES = _PACKAGE / "views", _PACKAGE / "sql", Path(traces.__file__).parent
# Below a warehouse: files of the user's own, in folders as here.
OWN = "local"
_NAME = re.compile(r"\w+\.\w+")
_PARAM = re.compile(r"^-- param: (\w+): (.*)$", re.M)


def trace_names() -> list[str]:
    """Every trace."""
    return sorted(path.stem for path in _TRACES.glob("[a-z]*.py"))


def query_names(warehouse: Path | None = None) -> Iterator[tuple[str, str]]:
    """Every named query, those of a warehouse's user too, and the question that it answers."""
    for path in _found(_QUERIES, warehouse, "*/*.sql"):
        yield f"{path.parent.name}.{path.stem}", _title(path)


def view_names(warehouse: Path | None = None) -> Iterator[tuple[str, str]]:
    """Every view by its plain name, those of a warehouse's user too, and what it holds."""
    newest: dict[str, Path] = {}
    for path in _found(_VIEWS, warehouse, "*/*.v*.sql"):
        newest[f"{path.parent.name}.{path.name.split('.')[0]}"] = path
    for name, path in newest.items():
        yield name, _title(path)


def table_names() -> Iterator[tuple[str, str]]:
    """Every base table, and what one of its rows stands for."""
    from tracehouse.ingest.declarations import all_traces

    for trace in all_traces().values():
        for table in trace.tables:
            yield f"{trace.name}.{table.name}", table.grain


def caveat_names() -> Iterator[tuple[str, str]]:
    """Every caveat, and what goes wrong."""
    for path in sorted(_VIEWS.glob("*/caveats.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield row["caveat"], row["what_goes_wrong"]


def parameters_of(query: str, warehouse: Path | None = None) -> Iterator[tuple[str, str, list[str]]]:
    """The parameters of a named query: name, meaning, and values that it may have, the default first."""
    schema, _, name = query.partition(".")
    paths = list(_found(_QUERIES, warehouse, f"{schema}/{name}.sql")) if _NAME.fullmatch(query) else []
    if not paths:
        return
    text = paths[0].read_text(encoding="utf-8", errors="replace")
    for parameter, meaning in _PARAM.findall(text):
        default = re.search(rf"\b{parameter} [^:]+:= ('[^']*'|[^,)\s]+)", text)
        choices = re.search(rf"^-- choices: {parameter}: (.*)$", text, re.M)
        value = default[1].strip("'") if default else "null"
        values = [value] if value not in ("", "null") else []
        values += choices[1].split() if choices else ["true", "false"] if value in ("true", "false") else []
        yield parameter, meaning, list(dict.fromkeys(values))


def _found(ours: Path, warehouse: Path | None, pattern: str) -> Iterator[Path]:
    """Files of a room of ours, and those of the user in the folder of its name."""
    yield from sorted(ours.glob(pattern))
    if warehouse:
        yield from sorted((warehouse / OWN / ours.name).glob(pattern))


def _title(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline().removeprefix("--").strip()
