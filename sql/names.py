"""Read the names that shell completion offers: traces, tables, views, caveats, queries and parameters.

Completion must be fast, so these functions read the files of the package, and of `local` in a warehouse,
without opening a database or parsing SQL.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tracehouse.ingest import traces

_PACKAGE = Path(__file__).parents[1]
_VIEWS, _QUERIES, _TRACES = _PACKAGE / "views", _PACKAGE / "sql", Path(traces.__file__).parent
# The folder below a warehouse with the user's own views and queries.
OWN = "local"
_NAME = re.compile(r"\w+\.\w+")
_PARAM = re.compile(r"^-- param: (\w+): (.*)$", re.M)
_SIGNATURE = re.compile(r"macro [\w.]+\((.*?)\)\s*as table", re.S | re.I)
_DEFAULT = re.compile(r"(\w+) [\w ]+(?:\([\d, ]+\))? := ('[^']*'|[^,)\s]+)")


def trace_names() -> list[str]:
    """Return the name of every trace."""
    return sorted(path.stem for path in _TRACES.glob("[a-z]*.py"))


def query_names(warehouse: Path | None = None) -> Iterator[tuple[str, str]]:
    """Yield the name and title of every query, including the user's own queries in a warehouse."""
    for path in _files(_QUERIES, warehouse, "*/*.sql"):
        yield f"{path.parent.name}.{path.stem}", _title(path)


def view_names(warehouse: Path | None = None) -> Iterator[tuple[str, str]]:
    """Yield the unversioned name and title of every view, including the user's own views in a warehouse."""
    newest: dict[str, Path] = {}
    for path in _files(_VIEWS, warehouse, "*/*.v*.sql"):
        newest[f"{path.parent.name}.{path.name.split('.')[0]}"] = path
    for name, path in newest.items():
        yield name, _title(path)


def table_names() -> Iterator[tuple[str, str]]:
    """Yield the name and grain of every base table."""
    from tracehouse.ingest.declarations import all_traces

    for trace in all_traces().values():
        for table in trace.tables:
            yield f"{trace.name}.{table.name}", table.grain


def caveat_names() -> Iterator[tuple[str, str]]:
    """Yield the name and the consequence of every caveat."""
    for path in sorted(_VIEWS.glob("*/caveats.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                yield row["caveat"], row["what_goes_wrong"]


def query_parameters(query: str, warehouse: Path | None = None) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name, meaning and values of each parameter of a query, the default value first."""
    schema, _, name = query.partition(".")
    paths = list(_files(_QUERIES, warehouse, f"{schema}/{name}.sql")) if _NAME.fullmatch(query) else []
    if not paths:
        return
    text = paths[0].read_text(encoding="utf-8", errors="replace")
    own = dict(_PARAM.findall(text))
    shared = shared_parameters(schema) if paths[0].is_relative_to(_QUERIES) else {}
    signature = _SIGNATURE.search(text)
    for parameter, default in _DEFAULT.findall(signature[1] if signature else ""):
        meaning, (key, limit) = shared.get(parameter, ("", ("", "")))
        choices = re.search(rf"^-- choices: {parameter}: (.*)$", text, re.M)
        value = default.strip("'")
        values = [value] if value not in ("", "null") else []
        if choices or key == "choices":
            values += (choices[1] if choices else limit).split()
        elif value in ("true", "false"):
            values += ["true", "false"]
        yield parameter, own.get(parameter, meaning), list(dict.fromkeys(values))


def values_column(query: str, parameter: str, warehouse: Path | None = None) -> str:
    """Return the column that holds the values of a parameter of a query; empty if there is none."""
    schema, _, name = query.partition(".")
    for path in _files(_QUERIES, warehouse, f"{schema}/{name}.sql") if _NAME.fullmatch(query) else ():
        text = path.read_text(encoding="utf-8", errors="replace")
        own = re.search(rf"^-- values: {re.escape(parameter)}: (.*)$", text, re.M)
        _, (key, limit) = shared_parameters(schema).get(parameter, ("", ("", "")))
        return own[1].strip() if own else limit if key == "values" else ""
    return ""


@cache
def shared_parameters(schema: str) -> Mapping[str, tuple[str, tuple[str, str]]]:
    """Return the meaning and the limit of the parameters that several queries of a schema share.

    A limit is the key and text of a header line, such as ("range", "0 to 1"); both are empty if there is
    none. A row without a schema applies to every schema that has no row of its own.
    """
    found = {}
    with (_QUERIES / "parameters.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["schema"] in ("", schema):
                key, _, text = row["limit"].partition(": ")
                found[row["parameter"]] = (row["meaning"], (key, text))
    return found


def _files(folder: Path, warehouse: Path | None, pattern: str) -> Iterator[Path]:
    """Yield the files of a folder of the package, then those in the user's folder of the same name."""
    yield from sorted(folder.glob(pattern))
    if warehouse:
        yield from sorted((warehouse / OWN / folder.name).glob(pattern))


def _title(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline().removeprefix("--").strip()
