"""The rules that follow from a table's declaration, each against rows that break it and rows that do not."""

from collections.abc import Iterator

import duckdb
import pytest

from tracehouse.ingest.declarations import Column, Table, Trace, all_traces
from tracehouse.views.ledgers import Check
from tracehouse.views.rules import all_rules

COLUMNS = (Column("id", "VARCHAR", "Id"), Column("from", "BIGINT", "Start"), Column("gpus", "DOUBLE", "GPUs"))
JOB = Table(
    name="job",
    comment="Jobs.",
    grain="one row per id and start",
    source="nowhere",
    file_name=r"job\.csv",
    columns=COLUMNS,
    key=("id", "from"),
    never_empty=("id", "gpus"),
)
TRACE = Trace("mars", "Mars", "nobody", "", "", "", "", (JOB,))


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute('create schema mars; create table mars.job (id varchar, "from" bigint, gpus double)')
        yield opened


def found(connection: duckdb.DuckDBPyConnection, kind: str) -> int:
    [rule] = [rule for rule in all_rules([TRACE]) if rule.trace == "mars" and rule.kind == kind]
    [(violations,)] = connection.execute(rule.sql).fetchall()
    return violations


def test_a_key_tells_rows_apart(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "insert into mars.job values ('a', 1, 1), ('a', 2, 1), ('b', 1, 1), (null, 1, 1), (null, 1, 1)"
    )
    assert found(connection, "key") == 0
    connection.execute("insert into mars.job values ('a', 1, 8), ('a', 1, 9)")
    assert found(connection, "key") == 2


def test_a_filled_column_has_a_value_in_every_row(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("insert into mars.job values ('a', null, 1)")
    assert found(connection, "coverage") == 0
    connection.execute("insert into mars.job values (null, 1, 1), ('a', 1, null), (null, null, null)")
    assert found(connection, "coverage") == 3


def test_every_declared_table_has_its_rules() -> None:
    rules: dict[str, Check] = {rule.name: rule for rule in all_rules(all_traces().values())}
    assert len(rules) == len(all_rules(all_traces().values()))
    for trace in all_traces().values():
        for table in trace.tables:
            name = f"{trace.name}.{table.name}"
            assert f"{name}.row_count" in rules
            if table.key:
                assert all(column in rules[f"{name}.key"].sql for column in table.key)
            if table.never_empty:
                assert all(column in rules[f"{name}.complete"].sql for column in table.never_empty)
