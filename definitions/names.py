"""Read the names that shell completion offers: traces, tables, views, caveats, queries and parameters.

Completion must be fast, so these functions read the files of the package, and of `local` in a warehouse,
without opening a database or parsing SQL.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions.parameters import Parameter, parse_parameters
from tracehouse.definitions.released import QUERIES, VIEWS, plain_name, released, versioned_name
from tracehouse.definitions.sql_text import first_statement

# The folder below a warehouse with the user's own views and queries.
OWN = "local"
_NAME = re.compile(r"\w+\.\w+")


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
    for parameter in _read_parameters(query, warehouse):
        value = parameter.default.strip("'")
        values = [value] if value not in ("", "null") else []
        values += ["true", "false"] if value in ("true", "false") else parameter.choices
        yield parameter.name, parameter.meaning, list(dict.fromkeys(values))


def values_column(query: str, parameter: str, warehouse: Path | None = None) -> str:
    """Return the column that holds the values of a parameter of a query; empty if there is none."""
    return next((one.values_of for one in _read_parameters(query, warehouse) if one.name == parameter), "")


def _read_parameters(query: str, warehouse: Path | None) -> list[Parameter]:
    """Return the parameters of a query; [] if its file does not exist or is not valid."""
    schema, _, name = query.partition(".")
    for path in _files(QUERIES, warehouse, f"{schema}/{name}.sql") if _NAME.fullmatch(query) else ():
        statement = first_statement(path.read_text(encoding="utf-8", errors="replace"))
        with suppress(DefinitionError):
            return list(parse_parameters(statement, path, path.is_relative_to(QUERIES)))
    return []


def _files(folder: Path, warehouse: Path | None, pattern: str) -> Iterator[Path]:
    """Yield the files of a folder of the package, then those in the user's folder of the same name."""
    yield from sorted(folder.glob(pattern))
    if warehouse:
        # Opening a named pipe would wait for a writer.
        yield from sorted(filter(Path.is_file, (warehouse / OWN / folder.name).glob(pattern)))


def _title(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline().removeprefix("--").strip()
