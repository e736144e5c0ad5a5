"""Rules of a table's declaration, each checked on rows that break it and on rows that do not."""

from collections.abc import Iterator

import duckdb
import pytest

from tracehouse.definitions.rules import all_rules
from tracehouse.ingest.declare.trace import Column, Reference, Rule, Table, Trace

COLUMNS = (
    Column("id", "VARCHAR", "Id", pattern="[a-z]"),
    Column("from", "BIGINT", "Start", least=0, most=9),
    Column("gpus", "DOUBLE", "GPUs", above=0),
    Column("cpus", "DOUBLE", "CPUs", above=0),
    Column("state", "VARCHAR", "State", choices=("ended", "isn't")),
    Column("size of job", "BIGINT", "Size", choices=(1, 2)),
    Column(
        "at", "TIMESTAMPTZ", "Submission", least="2023-03-01 00:00:00+08:00", below="2023-04-01 00:00:00Z"
    ),
)
JOB = Table(
    name="job",
    comment="Jobs.",
    grain="one row per id and start",
    source="nowhere",
    file_name=r"job\.csv",
    columns=COLUMNS,
    key=("id", "from"),
    never_empty=("id", "gpus"),
    rules=(
        Rule("cpus_of_many", "more than 4 GPUs have a CPU", "gpus > 4 and cpus is null", caveat="mars.dust"),
    ),
    references=(Reference(("id", "from"), "node", ("name", "row")),),
)
NODE = Table("node", "Nodes.", "one row per name", "nowhere", r"node\.csv", columns=())
TRACE = Trace("mars", "Mars", "unknown", "", "", "", "", (JOB, NODE))


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        columns = ", ".join(f'"{column.name}" {column.type}' for column in COLUMNS)
        opened.execute(f"create schema mars; create table mars.job ({columns})")
        opened.execute('create table mars.node (name varchar, "row" bigint)')
        yield opened


def insert(connection: duckdb.DuckDBPyConnection, *rows: dict[str, object]) -> None:
    for row in rows:
        columns = ", ".join(f'"{column}"' for column in row)
        places = ", ".join("?" for _ in row)
        connection.execute(f"insert into mars.job ({columns}) values ({places})", [*row.values()])


def count(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    [rule] = [rule for rule in all_rules([TRACE]) if rule.name == f"mars.job.{name}"]
    [(violations,)] = connection.execute(rule.sql).fetchall()
    return violations


def test_key_counts_repeated_rows(connection: duckdb.DuckDBPyConnection) -> None:
    rows = [("a", 1), ("a", 2), ("b", 1), (None, 1), (None, 1)]
    insert(connection, *({"id": name, "from": start} for name, start in rows))
    assert count(connection, "key") == 0
    insert(connection, {"id": "a", "from": 1}, {"id": "a", "from": 1, "gpus": 9})
    assert count(connection, "key") == 2


def test_complete_counts_rows_with_an_empty_field(connection: duckdb.DuckDBPyConnection) -> None:
    insert(connection, {"id": "a", "gpus": 1})
    assert count(connection, "complete") == 0
    insert(connection, {"gpus": 1}, {"id": "a"}, {"from": 1})
    assert count(connection, "complete") == 3


@pytest.mark.parametrize(
    ("rule", "column", "allowed", "breaches"),
    [
        ("id", "id", ["a", "z"], ["A", "ab", ""]),
        ("from", "from", [0, 9], [-1, 10]),
        ("positive", "gpus", [0.5], [0, -1]),
        ("positive", "cpus", [0.5], [0, -1]),
        ("state", "state", ["ended", "isn't"], ["ENDED"]),
        ("size_of_job", "size_of_job", [1, 2], [3]),
        (
            "at",
            "at",
            ["2023-02-28 16:00:00Z", "2023-03-31 23:59:59Z"],
            ["2023-02-28 15:59:59Z", "2023-04-01 00:00:00Z"],
        ),
    ],
)
def test_limits_count_rows_outside_them(
    rule: str, column: str, allowed: list, breaches: list, connection: duckdb.DuckDBPyConnection
) -> None:
    insert(connection, *({column: value} for value in [None, *allowed]))
    assert count(connection, rule) == 0
    insert(connection, *({column: value} for value in breaches))
    assert count(connection, rule) == len(breaches)


def test_row_rule_counts_rows_that_meet_its_condition(connection: duckdb.DuckDBPyConnection) -> None:
    insert(connection, {"gpus": 4}, {"gpus": 5, "cpus": 1})
    assert count(connection, "cpus_of_many") == 0
    insert(connection, {"gpus": 5})
    assert count(connection, "cpus_of_many") == 1
    [rule] = [rule for rule in all_rules([TRACE]) if rule.name == "mars.job.cpus_of_many"]
    assert rule.caveat == "mars.dust"


def test_reference_counts_rows_without_a_partner(connection: duckdb.DuckDBPyConnection) -> None:
    insert(connection, {"id": "a", "from": 1}, {"id": "a", "from": 2}, {"id": "a"}, {"from": 1})
    assert count(connection, "in_node") == 0
    connection.execute("insert into mars.node values ('a', 1), ('a', 1), ('b', 2), (null, 2)")
    assert count(connection, "in_node") == 1


def test_rules_have_a_text() -> None:
    texts = {rule.name.removeprefix("mars.job."): rule.rule for rule in all_rules([TRACE])}
    assert texts["from"] == "from is at least 0 and at most 9"
    assert texts["positive"] == "gpus and cpus are above 0"
    assert texts["state"] == "state is one of ended, isn't"
    assert texts["in_node"] == "every (id, from) occurs in mars.node"
