"""Describe a table, view, query, trace, column, caveat or published figure from the catalog."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb

from tracehouse.core.errors import Command, UsageError
from tracehouse.definitions.sql_text import first_statement
from tracehouse.engines.duckdb.read import membership, notes
from tracehouse.engines.duckdb.read.catalog import check_is_built, read_rows
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.engines.duckdb.read.search import close_matches


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
    _, *parts = re.split(r"^-- describe: (.+)\n", DESCRIBE.read_text(encoding="utf-8"), flags=re.M)
    headings = zip(parts[::2], parts[1::2], strict=True)
    return {name: first_statement(sql) for names, sql in headings for name in names.split(", ")}


def describe(connection: duckdb.DuckDBPyConnection, name: str, on_data: bool = False) -> Description:
    """Describe a table, view, query, trace, column, caveat or published figure.

    A view may have its plain or its versioned name. With `on_data`, the caveats of a query or view are only
    those of traces from which it reads rows. Raises UsageError with close matches if no object has the name.
    """
    statements = _statements()
    for kind in [heading for heading in statements if "/" not in heading]:
        for row in read_rows(connection, statements[kind], name=name):
            facts = {fact: text or "" for fact, text in row.items()}
            found = facts.pop("name")
            about: list[Note] = []
            if kind in ("table", "view", "query"):
                about = notes.of_object(connection, found, on_data=on_data and kind != "table")
                about += membership.as_notes(membership.find_not_loaded(connection, found))
            elif kind == "column":
                owner, _, column = found.rpartition(".")
                facts["type"] = facts["type"] or _answer_types(connection, owner)[column]
                about = _column_notes(connection, found)
            headings = [heading for heading in statements if heading.startswith(f"{kind}/")]
            grids = [_grid(connection, heading, found) for heading in headings]
            sql = first_statement(facts.pop("sql", ""))
            return Description(found, facts.pop("title"), facts, grids, about, sql)
    _check_is_column(connection, name)
    check_is_built(connection, name)
    sql = """
        select table_name from catalog.tables
        union
        select view_name from catalog.views where is_current
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
    search = Command("list", ["queries"], {"search": word})
    raise UsageError(f'No object named "{name}".{matches} Search: ', search)


def _grid(connection: duckdb.DuckDBPyConnection, heading: str, name: str) -> Grid:
    """Return the table of a description that a statement of `describe.sql` gives."""
    answer = connection.execute(_statements()[heading], {"name": name})
    names = [column[0] for column in answer.description or ()]
    rows: list[tuple] = answer.fetchall()
    if heading.endswith("/columns") and any(row[1] is None for row in rows):
        # The catalog does not have the types of a query's answer, because DuckDB infers them slowly.
        types = _answer_types(connection, name)
        rows = [(column, types[column], *more) for column, _, *more in rows]
    return Grid(heading.rpartition("/")[2], names, rows)


def _answer_types(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, str]:
    """Return the types of the columns of a query's answer."""
    rows = connection.execute(f"describe from {query}()").fetchall()
    return {column: kind for column, kind, *_ in rows}


def _check_is_column(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Raise UsageError if the name is that of a table, view or query with a column that it lacks."""
    owner, _, column = name.rpartition(".")
    sql = """
        select column_name from catalog.columns where object_name = $owner
        union all
        select column_name from duckdb_columns()
        where schema_name = 'catalog' and schema_name || '.' || table_name = $owner
        """
    if known := [row[0] for row in connection.execute(sql, {"owner": owner}).fetchall()]:
        matches = close_matches(column, known)
        raise UsageError(f"{owner} has no column {column}.{matches} List all: ", Command("describe", [owner]))


def _column_notes(connection: duckdb.DuckDBPyConnection, name: str) -> list[Note]:
    sql = """
        select caveat, what_goes_wrong || ' ' || what_to_do, 'caveat', severity, summary from catalog.caveats
        where
            list_contains(objects, $name)
            or caveat in (
                select unnest(caveats) from catalog.columns where object_name || '.' || column_name = $name
            )
        order by caveat
        """
    return [Note(*row) for row in connection.execute(sql, {"name": name}).fetchall()]
