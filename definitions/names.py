"""Read the names that shell completion offers: traces, tables, views, caveats, queries and parameters.

Completion must be fast, so these functions read the files of the package, and of `local` in a warehouse,
without opening a database or parsing SQL.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tracehouse.definitions.released import QUERIES, VIEWS, plain_name, released, versioned_name

# The folder below a warehouse with the user's own views and queries.
OWN = "local"
_NAME = re.compile(r"\w+\.\w+")
_SIGNATURE = re.compile(r"macro [\w.]+\((.*?)\)\s*as table", re.S | re.I)
_PARAMETER = re.compile(
    r"(?P<comment>(?:\s*--[^\n]*\n)*)\s*(?P<name>\w+) [\w ]+(?:\([\d, ]+\))? := (?P<default>'[^']*'|[^,)\s]+)"
)
_COLUMN = re.compile(r"\w+\.\w+\.\w+")
# How the limit begins of a parameter that names a table or view, and of one that lists values of a column.
TABLE, LIST = "table with ", "list of "
_LIMIT = re.compile(r"(?P<meaning>.*?)\s*(?:\[(?P<limit>[^\[\]]*)\])?", re.S)


def query_names(warehouse: Path | None = None) -> Iterator[tuple[str, str]]:
    """Yield the name and title of every query, including the user's own queries in a warehouse."""
    for path in _files(QUERIES, warehouse, "*/*.sql"):
        yield plain_name(path), _title(path)


def view_names(warehouse: Path | None = None) -> Iterator[tuple[str, str]]:
    """Yield the unversioned name and title of every view, including the user's own views in a warehouse."""
    from tracehouse.definitions.requests import title
    from tracehouse.ingest.declare.trace import all_traces

    for trace in all_traces().values():
        if trace.requests:
            yield f"{trace.name}.request", title(trace)
    # Superseded versions are in other folders.
    files = _files(VIEWS, warehouse, "*/*.v*.sql")
    shown = [path for path in files if not path.is_relative_to(VIEWS) or versioned_name(path) in released()]
    for name, path in {plain_name(path): path for path in shown}.items():
        yield name, _title(path)


def table_names() -> Iterator[tuple[str, str]]:
    """Yield the name and grain of every base table."""
    from tracehouse.ingest.declare.trace import all_traces

    for trace in all_traces().values():
        for table in trace.tables:
            yield f"{trace.name}.{table.name}", table.grain


def caveat_names() -> Iterator[tuple[str, str]]:
    """Yield the name and the consequence of every caveat."""
    from tracehouse.ingest.declare.trace import all_traces

    for trace in all_traces().values():
        for caveat in trace.objects_by_caveat:
            yield caveat.name, caveat.what_goes_wrong


def query_parameters(query: str, warehouse: Path | None = None) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the name, meaning and values of each parameter of a query, the default value first."""
    for parameter, default, meaning, limit in _read_parameters(query, warehouse):
        value = default.strip("'")
        values = [value] if value not in ("", "null") else []
        if value in ("true", "false"):
            values += ["true", "false"]
        elif limit != "any" and not (" to " in limit or limit.startswith(TABLE) or _column_of(limit)):
            values += limit.split()
        yield parameter, meaning, list(dict.fromkeys(values))


def values_column(query: str, parameter: str, warehouse: Path | None = None) -> str:
    """Return the column that holds the values of a parameter of a query; empty if there is none."""
    limits = {name: limit for name, _, _, limit in _read_parameters(query, warehouse)}
    return _column_of(limits.get(parameter, ""))


def _column_of(limit: str) -> str:
    """Return the column that a limit names; empty if it is another limit."""
    column = limit.removeprefix(LIST)
    return column if _COLUMN.fullmatch(column) else ""


def _read_parameters(query: str, warehouse: Path | None) -> Iterator[tuple[str, str, str, str]]:
    """Yield the name, default, meaning and limit of each parameter of a query."""
    schema, _, name = query.partition(".")
    for path in _files(QUERIES, warehouse, f"{schema}/{name}.sql") if _NAME.fullmatch(query) else ():
        signature = _SIGNATURE.search(path.read_text(encoding="utf-8", errors="replace"))
        shared = shared_parameters(schema) if path.is_relative_to(QUERIES) else {}
        for found in _PARAMETER.finditer(signature[1] if signature else ""):
            meaning, limit = split_comment(found["comment"])
            shared_meaning, shared_limit = shared.get(found["name"], ("", ""))
            yield found["name"], found["default"], meaning or shared_meaning, limit or shared_limit
        return


def split_comment(text: str) -> tuple[str, str]:
    """Split the comment above a parameter into its meaning and its limit, in brackets; both may be empty."""
    lines = (line.strip() for line in text.splitlines())
    found = _LIMIT.fullmatch(" ".join(line.removeprefix("--").strip() for line in lines if line[:2] == "--"))
    return (found["meaning"], found["limit"] or "") if found else ("", "")


@cache
def shared_parameters(schema: str) -> Mapping[str, tuple[str, str]]:
    """Return the meaning and the limit of the parameters that several queries of a schema share, by name.

    A row without a schema applies to every schema that has no row of its own.
    """
    found = {}
    with (QUERIES / "parameters.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["schema"] in ("", schema):
                found[row["parameter"]] = (row["meaning"], row["limit"])
    return found


def _files(folder: Path, warehouse: Path | None, pattern: str) -> Iterator[Path]:
    """Yield the files of a folder of the package, then those in the user's folder of the same name."""
    yield from sorted(folder.glob(pattern))
    if warehouse:
        # Opening a named pipe would wait for a writer.
        yield from sorted(filter(Path.is_file, (warehouse / OWN / folder.name).glob(pattern)))


def _title(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline().removeprefix("--").strip()
