"""Add the closest names of the warehouse to DuckDB's errors on unknown columns, tables and functions."""

import re
from collections.abc import Collection, Sequence

import duckdb

from tracehouse.core.errors import Command, Part
from tracehouse.core.text import join_names
from tracehouse.engines.duckdb.read.catalog import check_is_built, read_rows
from tracehouse.engines.duckdb.read.sandbox import BindingError
from tracehouse.engines.duckdb.read.search import (
    close_matches,
    find_columns,
    list_matches,
    similar_names,
    suggest_queries,
)

_COLUMN = re.compile(
    r'Referenced column "(?P<name>.+)" not found in FROM clause!'
    r'|(?:Values list|Table) ".*" does not have a column named "(?P<other>.+)"'
)
_TABLE = re.compile(r'Table with name "?(?P<name>[\w.]+)"? does not exist')
_FUNCTION = re.compile(r"Function with name (?P<name>\w+) does not exist!")
_GROUPED_WINDOW = "Cannot group on a window clause"
# DuckDB's candidates for a column are kept if they are spelled as similarly as this.
_SIMILAR = 0.7


def explain(
    connection: duckdb.DuckDBPyConnection, error: duckdb.Error, reads: Collection[str]
) -> BindingError:
    """Return a statement's error, with the closest columns or tables if a name is unknown.

    `reads` are the tables, views and queries that the statement names. Raises UserError if the unknown table
    is the user's own view and could not be built.
    """
    said, _, place = str(error).partition("\n\n")
    parts: Sequence[Part] = ()
    if found := _COLUMN.search(said):
        parts = _explain_column(connection, found["name"] or found["other"], said, reads)
    elif found := _TABLE.search(said):
        parts = _explain_table(connection, found["name"].lower(), reads)
    elif found := _FUNCTION.search(said):
        parts = (_explain_function(connection, found["name"], said),)
    elif _GROUPED_WINDOW in said:
        advice = "`group by all` groups by each column without an aggregate: name the columns instead"
        parts = (f"{said}. {advice}",)
    return BindingError(*parts, f"\n\n{place}") if parts else BindingError(str(error))


def _explain_column(
    connection: duckdb.DuckDBPyConnection, name: str, said: str, reads: Collection[str]
) -> Sequence[Part]:
    rows = read_rows(
        connection,
        """
        select object_name, column_name, meaning from catalog.columns
        where list_contains($reads, object_name) order by position
        """,
        reads=sorted(reads),
    )
    if not rows:
        return ()
    meanings = {row["column_name"]: row["meaning"] for row in rows}
    candidates = re.findall(r'"([^"]+)"', said.partition("Candidate bindings:")[2])
    # A candidate may be a column of a subquery, which the catalog does not have.
    spelled = similar_names(name, [*dict.fromkeys([*candidates, *meanings])], _SIMILAR)
    objects = sorted({row["object_name"] for row in rows})
    first, *others = (Command("describe", [one]) for one in objects[:2])
    matches = list_matches([*spelled, *find_columns(name, meanings)])
    what = f'No column "{name}" in {join_names(objects, 3)}.{matches} List all: '
    return what, first, *(part for other in others for part in (" or ", other))


def _explain_table(
    connection: duckdb.DuckDBPyConnection, name: str, reads: Collection[str]
) -> Sequence[Part]:
    full = next((read for read in sorted(reads) if read == name or read.endswith(f".{name}")), name)
    check_is_built(connection, full)
    if connection.execute("select 1 from catalog.queries where query_name = $1", [full]).fetchall():
        return (f"{full} is a query: write {full}() with parentheses",)
    sql = "select table_name from catalog.tables union select view_name from catalog.views"
    names = [known for (known,) in connection.execute(sql).fetchall()]
    same = sorted(known for known in names if known.endswith(f".{name}"))
    matches = list_matches(same, 20) if same and full == name else close_matches(full, names)
    matches = matches or suggest_queries(connection, full)
    return f'No table or view "{full}".{matches} List: ', Command("list", ["views"])


def _explain_function(connection: duckdb.DuckDBPyConnection, name: str, said: str) -> str:
    """Name the macros of the warehouse, whose names need their schema."""
    sql = """
        select distinct schema_name || '.' || function_name from duckdb_functions()
        where not internal and function_type = 'macro'
        """
    macros = [known for (known,) in connection.execute(sql).fetchall()]
    duckdb_own = re.findall(r"\w+", said.partition('Did you mean "')[2].partition('"')[0])
    matches = [*similar_names(name, macros, _SIMILAR), *similar_names(name, duckdb_own, _SIMILAR)]
    return f'No function "{name}".{list_matches(matches)}'
