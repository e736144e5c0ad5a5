"""A macro in DuckDB and `traces query` give the same rows."""

import datetime as dt
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import command_line
import comparison
import duckdb
import pyarrow as pa
import pytest

from tracehouse.engines.duckdb.read import answer, binding, sandbox
from tracehouse.engines.duckdb.write import database
from tracehouse.sql.query_files import Parameter, QueryFile, query_files

MacroRows = Callable[[QueryFile, dict[str, Any]], pa.Table]

QUERIES = query_files()
FIRST_OF_SCHEMA = list({query.schema: query for query in reversed(QUERIES)}.values())
# These parameters name a table of the user. tests/views/test_openb_by_hand.py tests them.
USERS_OWN = {"residual_table"}
WITHOUT_PARAMETERS = [query for query in QUERIES if not query.parameters]
CHANGED = [
    (query, parameter)
    for query in QUERIES
    for parameter in query.parameters
    if parameter.name not in USERS_OWN
]


def other_value(query: QueryFile, parameter: Parameter) -> Any:
    """Return a value that is not the default."""
    known = comparison.OTHER_VALUES.get(query.schema, {})
    default = parameter.default.strip("'")
    if parameter.choices:
        return next(choice for choice in parameter.choices if choice != default)
    if parameter.name in known:
        return known[parameter.name]
    if parameter.type == "BOOLEAN":
        return default != "true"
    doubled = int(default) * 2 if "INT" in parameter.type else float(default) * 2
    return min(doubled, type(doubled)(parameter.range.at_most)) if parameter.range else doubled


def plain(value: Any) -> Any:
    """Return a value as JSON has it, with all digits."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dt.datetime) and value.tzinfo:
        # DuckDB omits the minutes of an offset of whole hours.
        return f"{value.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}+00"
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def run_traces(query: QueryFile, warehouse: Path) -> list[dict[str, Any]]:
    command = ["query", query.full_name, "--format", "json", "--warehouse", warehouse]
    done = command_line.server().run(*command)
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def run_query(query: QueryFile, opened: duckdb.DuckDBPyConnection, texts: dict[str, str]) -> pa.Table:
    """Return the answer of `traces query`, without starting a process."""
    return answer.read(opened, binding.bind_query(opened, query.full_name, texts)).read_all()


@pytest.fixture(scope="module")
def macro_rows(sample_warehouse: Path) -> Iterator[MacroRows]:
    """A function that returns the rows of a macro with given values, and runs each call only once."""
    found: dict[str, pa.Table] = {}

    def ask(query: QueryFile, values: dict[str, Any]) -> pa.Table:
        sql = call(query, values)
        key = f"{sql} {values}"
        if key not in found:
            found[key] = connection.sql(sql, params=values).to_arrow_table()
        return found[key]

    with duckdb.connect(str(sample_warehouse / database.NAME), read_only=True) as connection:
        connection.execute("set timezone = 'UTC'")
        yield ask


@pytest.fixture(scope="module")
def opened(sample_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with sandbox.connect(sample_warehouse) as connection:
        yield connection


@pytest.mark.parametrize("query", WITHOUT_PARAMETERS, ids=lambda query: query.full_name)
def test_macro_equals_query_without_parameters(
    query: QueryFile, opened: duckdb.DuckDBPyConnection, macro_rows: MacroRows
) -> None:
    assert run_query(query, opened, {}) == macro_rows(query, {})


@pytest.mark.parametrize("query", FIRST_OF_SCHEMA, ids=lambda query: query.full_name)
def test_macro_equals_command_line(query: QueryFile, sample_warehouse: Path, macro_rows: MacroRows) -> None:
    rows = [{name: plain(value) for name, value in row.items()} for row in macro_rows(query, {}).to_pylist()]
    assert run_traces(query, sample_warehouse) == rows


@pytest.mark.parametrize(
    ("query", "parameter"),
    CHANGED,
    ids=[f"{query.full_name}-{parameter.name}" for query, parameter in CHANGED],
)
def test_macro_equals_query_with_another_value(
    query: QueryFile,
    parameter: Parameter,
    opened: duckdb.DuckDBPyConnection,
    macro_rows: MacroRows,
) -> None:
    together = comparison.TOGETHER.get((query.full_name, parameter.name), {})
    values = together | {parameter.name: other_value(query, parameter)}
    rows = run_query(query, opened, {name: to_text(value) for name, value in values.items()})
    assert rows == macro_rows(query, values)
    assert rows != macro_rows(query, together)


def to_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def call(query: QueryFile, values: dict[str, Any]) -> str:
    return f"from {query.full_name}({', '.join(f'{name} := ${name}' for name in values)})"
