"""Describe a table, view, query, trace, column, caveat or published figure from the catalog."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb

from tracehouse.core.errors import UsageError
from tracehouse.engines.duckdb.read import notes
from tracehouse.engines.duckdb.read.catalog import check_is_built, read_rows
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.engines.duckdb.read.search import close_matches
from tracehouse.views.graph import sources
from tracehouse.views.sql_text import first_statement


@dataclass(frozen=True)
class Grid:
    """A table of texts: its title, the names of its columns, and its rows."""

    title: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Description:
    """A description of an object: facts by name, its parameters and columns, caveats, and its SQL."""

    name: str
    title: str
    facts: dict[str, str]
    grids: Sequence[Grid] = ()
    notes: Sequence[Note] = ()
    sql: str = ""


DESCRIBE = Path(__file__).with_suffix(".sql")


@cache
def _statements() -> dict[str, str]:
    """The statements of `describe.sql` by their headings, such as `query` and `query/parameters`."""
    _, *parts = re.split(r"^-- describe: (.+)\n", DESCRIBE.read_text(), flags=re.M)
    headings = zip(parts[::2], parts[1::2], strict=True)
    return {name: first_statement(sql) for names, sql in headings for name in names.split(", ")}


def describe(connection: duckdb.DuckDBPyConnection, name: str, on_data: bool = False) -> Description:
    """Describe a table, view, query, trace, column, caveat or published figure.

    A view may have its plain or its versioned name. With `on_data`, the caveats of a query are only those of
    traces from which it reads rows. Raises UsageError with close matches if no object has the name.
    """
    statements = _statements()
    for kind in [heading for heading in statements if "/" not in heading]:
        for row in read_rows(connection, statements[kind], name=name):
            facts = {fact: text or "" for fact, text in row.items()}
            found = facts.pop("name")
            return Description(
                found,
                facts.pop("title"),
                sql=first_statement(facts.pop("sql", "")),
                facts=facts,
                grids=[
                    _grid(connection, heading, found)
                    for heading in statements
                    if heading.startswith(f"{kind}/")
                ],
                notes=notes.of_object(connection, found, on_data=on_data and kind == "query")
                if kind in ("table", "view", "query")
                else (),
            )
    if column := _column(connection, name):
        return column
    check_is_built(connection, name)
    sql = """
        select table_name from catalog.tables
        union
        select view_name from catalog.views
        union
        select query_name from catalog.queries
        union
        select trace from catalog.traces
        union
        select caveat from catalog.caveats
        union
        select figure from catalog.published
        union
        select 'catalog.' || table_name from duckdb_columns() where schema_name = 'catalog'
        order by all
        """
    matches = close_matches(name, [known for (known,) in connection.execute(sql).fetchall()])
    word = name.rpartition(".")[2]
    raise UsageError(f'No object named "{name}".{matches} Search: `traces list queries --search {word}`')


def _grid(connection: duckdb.DuckDBPyConnection, heading: str, name: str) -> Grid:
    """Return the table of a description that a statement of `describe.sql` gives."""
    answer = connection.execute(_statements()[heading], {"name": name})
    names = [column[0] for column in answer.description or ()]
    rows: list[tuple] = answer.fetchall()
    if heading.endswith("/columns") and any(row[1] is None for row in rows):
        # The catalog does not have the types of a query's answer, because DuckDB infers them slowly.
        types = {
            column: kind for column, kind, *_ in connection.execute(f"describe from {name}()").fetchall()
        }
        rows = [(column, types[column], *more) for column, _, *more in rows]
    return Grid(heading.rpartition("/")[2], names, rows)


def _column(connection: duckdb.DuckDBPyConnection, name: str) -> Description | None:
    """Describe a column of a table, view, query or catalog table, by its full name."""
    owner, _, column = name.rpartition(".")
    is_catalog = owner.startswith("catalog.")
    grid = _grid(connection, f"{'catalog table' if is_catalog else 'table'}/columns", owner)
    kinds = {found: kind for found, kind, *_ in grid.rows}
    if not kinds:
        return None
    if column not in kinds:
        matches = close_matches(column, list(kinds))
        raise UsageError(f"{owner} has no column {column}.{matches} List all: `traces describe {owner}`")
    if is_catalog:
        [meaning] = [meaning for found, _, meaning in grid.rows if found == column]
        return Description(name, meaning, {"kind": f"column of the table {owner}", "type": kinds[column]})
    sql = """
        select
            *,
            case
                when type is null then 'query'
                when object_name in (select table_name from catalog.tables) then 'table'
                else 'view'
            end as kind
        from catalog.columns where object_name || '.' || column_name = $name
        """
    [row] = read_rows(connection, sql, name=name)
    return Description(
        name,
        row["meaning"],
        {
            "kind": f"column of the {row['kind']} {owner}",
            "type": kinds[column],
            "unit": row["unit"],
            "provenance": row["provenance"],
            "computed from": ", ".join(row["lineage"]),
            "base columns": ", ".join(_origins(connection, row["lineage"])),
        },
        notes=_column_notes(connection, name, row["caveats"]),
    )


def _origins(connection: duckdb.DuckDBPyConnection, lineage: Sequence[str]) -> list[str]:
    """Return the base columns that some columns are computed from; empty if all are base columns."""
    sql = "select object_name || '.' || column_name, lineage from catalog.columns where len(lineage) > 0"
    reads = dict(connection.execute(sql).fetchall())
    found = sources(lineage, reads)
    return sorted(found) if found != set(lineage) else []


def _column_notes(connection: duckdb.DuckDBPyConnection, name: str, caveats: Sequence[str]) -> list[Note]:
    sql = """
        select caveat, what_goes_wrong || ' ' || what_to_do, 'caveat', severity, summary from catalog.caveats
        where list_contains($caveats, caveat) or list_contains(objects, $name)
        order by caveat
        """
    rows = connection.execute(sql, {"caveats": list(caveats), "name": name}).fetchall()
    return [Note(*row) for row in rows]
