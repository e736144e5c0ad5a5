"""Data-quality rules on real files, on synthetic files, and on rows and files that break the rules."""

import importlib
import pkgutil
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
import raw_dumps
import sqlglot
import suites
from broken_rows import BrokenRow, broken_rows
from non_empty import non_empty
from pyarrow import csv

from tracehouse.definitions.rules import Check, all_rules, checks
from tracehouse.definitions.view_files import references, view_files
from tracehouse.engines.duckdb.write.build import build_file
from tracehouse.ingest.declare.trace import all_caveats, all_traces
from tracehouse.ingest.store import records
from tracehouse.ingest.store.snapshot import Snapshot

pytestmark = [pytest.mark.each_trace, suites.of("long")]

# One module per trace with rules in SQL.
TRACES = [
    importlib.import_module(f"broken.{found.name}")
    for found in pkgutil.iter_modules([str(Path(__file__).parents[1] / "broken")])
]
BROKEN = {name: lines for trace in TRACES for name, lines in getattr(trace, "FILES", {}).items()}
BROKEN_MORE_OFTEN = {
    rule: times for trace in TRACES for rule, times in getattr(trace, "BROKEN_MORE_OFTEN", {}).items()
}
CHANGES = [change for trace in TRACES for change in getattr(trace, "CHANGES", ())]
KEPT_BY_INGEST = {rule for trace in TRACES for rule in getattr(trace, "KEPT_BY_INGEST", ())}

# tests/definitions/test_rules.py tests the rules on row counts, keys and empty fields.
OF_EVERY_TABLE = ("the table has the rows", "no two rows have the same", "every row has a value of")
LISTED = {check.name for check in checks()}
"""The rules of `checks.sql`. The others are declared with the tables."""
DECLARED = {rule.name: rule for rule in all_rules(all_traces().values()) if rule.name not in LISTED}
RULES = {
    rule.name: rule
    for rule in all_rules(all_traces().values())
    if rule.name in LISTED or not rule.rule.startswith(OF_EVERY_TABLE)
}
VIEWS = {view.versioned: view for view in view_files()}
KINDS = {"key", "reference", "range", "derived", "coverage", "agreement"}

# Rules on two lists of one table, and the condition that excludes one of the lists.
WITHOUT_A_LIST = [
    ("itp.elasticflow_job.testbed_in_cluster02", "source_file <> 'cluster02'"),
    ("openb.node.lists_agree", "node_list <> 'all_node'"),
    ("openb.node.lists_agree", "node_list <> 'gpu_node'"),
    ("openb.pod.gpuspec_keeps_default", "variant <> 'default'"),
    ("openb.pod.multigpu50_keeps_default", "variant <> 'multigpu50'"),
]


def warehouse_of(files: dict[str, list[str]], folder: Path) -> duckdb.DuckDBPyConnection:
    for name, lines in files.items():
        path = folder / "raw" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if path.suffix == ".parquet":
            pq.write_table(csv.read_csv(path), path)
    connection = raw_dumps.ingested(folder / "raw", folder / "warehouse")
    assert connection.execute("select count(*) from catalog.rejected_rows").fetchall()[0] == (0,)
    return connection


def of_traces(names: Iterable[str], traces: Collection[str]) -> set[str]:
    """Return the rules or files of these traces."""
    return {name for name in names if re.split(r"[./]", name)[0] in traces}


Outcomes = dict[str, tuple[int | None, str]]
"""The number of breaches and the status of each rule."""


def rule_statements(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return a statement for each rule that counts its breaches and gives its status."""
    rules = connection.execute("select check_name, sql from catalog.rules").fetchall()
    return {name: f"select violations, status from ({sql})" for name, sql in rules}


def run_rules(connection: duckdb.DuckDBPyConnection) -> Outcomes:
    """Run the rules one by one, as `traces check` does. `catalog.checks` takes twice as long."""
    statements = rule_statements(connection)
    return {name: connection.execute(sql).fetchall()[0] for name, sql in statements.items()}


def violations(outcomes: Outcomes) -> dict[str, int]:
    """Return the number of breaches of each rule that has data and is broken."""
    return {name: count for name, (count, _) in outcomes.items() if count and name in RULES}


@pytest.fixture(scope="module")
def outcomes_on_real_files(opened_real: duckdb.DuckDBPyConnection) -> Outcomes:
    return run_rules(opened_real)


def tables_read(rule: Check) -> frozenset[str]:
    return references(sqlglot.parse_one(rule.sql, dialect="duckdb"), Path(rule.name))


def count(connection: duckdb.DuckDBPyConnection, rule: str) -> int:
    ((found,),) = connection.execute(RULES[rule].sql).fetchall()
    return found


@pytest.fixture
def tables() -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory with all base tables, without rows."""
    with duckdb.connect() as connection:
        for trace in all_traces().values():
            connection.execute(f"create schema {trace.name}")
            for table in trace.tables:
                columns = ", ".join(f'"{column.name}" {column.type}' for column in table.stored_columns)
                connection.execute(f"create table {trace.name}.{table.name} ({columns})")
        yield connection


@pytest.fixture(scope="module")
def broken(
    tested_traces: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    files = {name: BROKEN[name] for name in of_traces(BROKEN, tested_traces)}
    if not files:
        pytest.skip(f"no files break rules of {', '.join(tested_traces)}")
    with warehouse_of(files, tmp_path_factory.mktemp("broken")) as connection:
        yield connection


def test_rules_are_named_after_their_object() -> None:
    assert len({rule.name for rule in checks()}) == len(checks())
    tables = {f"{trace.name}.{table.name}" for trace in all_traces().values() for table in trace.tables}
    assert {rule.object_name for rule in RULES.values() if rule.kind != "agreement"} <= tables
    assert {rule.object_name for rule in RULES.values() if rule.kind == "agreement"} <= VIEWS.keys()
    for rule in RULES.values():
        assert rule.object_name.startswith(f"{rule.trace}."), rule.name
        assert rule.name.removeprefix(f"{rule.object_name}.").isidentifier(), rule.name
        assert rule.kind in KINDS, rule.name


def test_rules_name_caveats_of_their_trace() -> None:
    caveats = {(caveat.trace, caveat.name) for caveat in all_caveats()}
    named = {(rule.trace, rule.caveat) for rule in RULES.values() if rule.caveat}
    assert named
    assert named <= caveats


def test_rules_read_their_table_and_others_of_their_trace() -> None:
    for rule in non_empty(RULES.values()):
        known = {f"{rule.trace}.{table.name}" for table in all_traces()[rule.trace].tables}
        known |= {name for name, view in VIEWS.items() if view.schema == rule.trace}
        assert rule.object_name in tables_read(rule), rule.name
        assert tables_read(rule) <= known, rule.name


def test_no_rule_fails_on_real_files(outcomes_on_real_files: Outcomes) -> None:
    assert {name: found for name, found in outcomes_on_real_files.items() if found[1] == "failed"} == {}


def test_a_sample_breaks_no_rule_and_has_data_for_every_rule(
    synthetic: duckdb.DuckDBPyConnection, tested_traces: list[str]
) -> None:
    statuses = {name: status for name, (_, status) in run_rules(synthetic).items()}
    assert [name for name, status in statuses.items() if status == "failed"] == []
    without = [name for name, status in statuses.items() if status == "no data"]
    assert of_traces(without, tested_traces) == set()


def test_real_files_break_the_rules_that_pandas_found_broken(
    outcomes_on_real_files: Outcomes, real_raw: Path
) -> None:
    """Rules of a trace without a module in tests/broken are not compared with pandas."""
    expected: dict[str, int] = {}
    for trace in TRACES:
        if (real_raw / trace.__name__.removeprefix("broken.")).is_dir():
            expected |= getattr(trace, "BREACHES_ON_REAL_FILES", {})
    counted = {trace.__name__.removeprefix("broken.") for trace in TRACES}
    found = violations(outcomes_on_real_files)
    assert {name: n for name, n in found.items() if name.partition(".")[0] in counted} == expected
    assert {name for name in found if not RULES[name].caveat} == set()


@pytest.fixture(scope="module")
def outcomes_of_broken(broken: duckdb.DuckDBPyConnection) -> Outcomes:
    rows = broken.execute("select check_name, violations, status from catalog.checks").fetchall()
    return {name: (count, status) for name, count, status in rows}


def test_each_listed_rule_counts_its_breaches(outcomes_of_broken: Outcomes, tested_traces: list[str]) -> None:
    expected = dict.fromkeys(LISTED - KEPT_BY_INGEST, 1) | BROKEN_MORE_OFTEN
    found = {name: count for name, count in violations(outcomes_of_broken).items() if name in LISTED}
    assert found == {name: expected[name] for name in of_traces(expected, tested_traces)}


def test_only_a_caveat_or_missing_rows_excuse_a_breach(
    broken: duckdb.DuckDBPyConnection, outcomes_of_broken: Outcomes, tested_traces: list[str]
) -> None:
    """The broken files have a few rows of each trace, which may break rules that need all of them."""
    of_part = "select table_name from catalog.tables where incomplete is not null"
    incomplete = {name for (name,) in broken.execute(of_part).fetchall()}
    statuses = {name: status for name, (_, status) in outcomes_of_broken.items()}
    needs_more = {
        name for name in LISTED if RULES[name].needs_all_rows and tables_read(RULES[name]) & incomplete
    }
    expected = {name: "not comparable" if name in needs_more else "failed" for name in LISTED}
    expected |= {name: "known" for name in LISTED if RULES[name].caveat}
    assert needs_more or len(tested_traces) == 1
    expected |= dict.fromkeys(KEPT_BY_INGEST, "ok")
    assert {name: statuses[name] for name in of_traces(expected, tested_traces)} == {
        name: expected[name] for name in of_traces(expected, tested_traces)
    }


@pytest.fixture(scope="module")
def sample_tables(
    sample_warehouse: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with the sample in tables, which a test may change in a transaction."""
    path = tmp_path_factory.mktemp("tables") / "traces.duckdb"
    conversions = records.read_conversions(sample_warehouse)
    build_file(path, Snapshot(sample_warehouse.absolute(), conversions), embed_tables=True)
    with duckdb.connect(str(path)) as connection:
        yield connection


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Undo the changes at the end."""
    connection.begin()
    try:
        yield
    finally:
        connection.rollback()


def what_is_wrong(row: BrokenRow, connection: duckdb.DuckDBPyConnection, statement: str) -> str:
    """Return what is wrong with a rule that should count a row; empty if nothing is."""

    def outcome() -> tuple[int, str]:
        return connection.execute(statement).fetchall()[0]

    with transaction(connection):
        before, _ = outcome()
        if row.changes:
            replace(row, changes={}).insert(connection)
            if outcome()[0] != before:
                return "the valid row breaks the rule"
        row.insert(connection)
        expected = (before + 1, "known" if DECLARED[row.rule].caveat else "failed")
        if outcome() != expected:
            return f"{outcome()} instead of {expected}"
        if row.other:
            connection.execute(f"delete from {row.other}")
            if outcome()[0]:
                return f"counts breaches without rows of {row.other}"
    return ""


@pytest.mark.parametrize("trace", sorted(all_traces()))
def test_each_declared_rule_counts_a_broken_row(trace: str, sample_tables: duckdb.DuckDBPyConnection) -> None:
    rows = list(broken_rows(all_traces()[trace], CHANGES))
    declared = {rule.name for rule in DECLARED.values() if rule.trace == trace and rule.kind != "row count"}
    assert {row.rule for row in rows} == declared, f"tests/broken/{trace}.py must break each rule in SQL"
    statements = rule_statements(sample_tables)
    wrong = [(row, what_is_wrong(row, sample_tables, statements[row.rule])) for row in rows]
    assert [(row, what) for row, what in wrong if what] == []


@pytest.mark.parametrize("trace", sorted(all_traces()))
def test_empty_fields_break_rules_of_coverage_only(
    trace: str, sample_tables: duckdb.DuckDBPyConnection
) -> None:
    """Rules of `checks.sql` may compare two lists, of which one then lacks the row."""
    statements = rule_statements(sample_tables)
    tested = {name: DECLARED[name].kind for name in of_traces(DECLARED, [trace])}
    tested = {name: kind for name, kind in tested.items() if kind not in ("row count", "coverage")}

    def counts() -> dict[str, int]:
        return {name: sample_tables.execute(statements[name]).fetchall()[0][0] for name in tested}

    before = counts()
    for table in non_empty(all_traces()[trace].tables):
        columns = {column.name: column for column in table.stored_columns}
        filled = {name for name, column in columns.items() if column.required or column in table.keys}
        filled |= {table.wide.index, table.wide.variable} if table.wide else set()
        with transaction(sample_tables):
            empty = dict.fromkeys(columns.keys() - filled, "null")
            BrokenRow(f"{trace}.{table.name}.empty", empty).insert(sample_tables)
            broken = {name for name, count in counts().items() if count != before[name]}
        # A row with the required values of another row has its key, if these columns are the key.
        repeated = {f"{trace}.{table.name}.key"} if set(table.key) <= filled else set()
        assert broken <= repeated, table.name


def test_rule_on_two_tables_counts_nothing_if_one_is_missing(
    broken: duckdb.DuckDBPyConnection, tables: duckdb.DuckDBPyConnection, tested_traces: list[str]
) -> None:
    rules = {name: rule for name, rule in RULES.items() if rule.kind != "agreement"}
    between = {name for name in rules.keys() & LISTED if len(tables_read(rules[name])) > 1}
    assert {RULES[name].kind for name in between} <= {"reference", "range", "coverage"}
    for name in of_traces(between, tested_traces):
        assert count(broken, name) > 0, name
        table = RULES[name].object_name
        rows = broken.sql(f"from {table}").to_arrow_table()
        tables.execute(f"insert into {table} from rows")
        assert len(rows) > 0
        assert count(tables, name) == 0, name
        tables.execute(f"delete from {table}")


def test_rule_on_two_lists_counts_nothing_if_one_is_missing(
    broken: duckdb.DuckDBPyConnection, tables: duckdb.DuckDBPyConnection, tested_traces: list[str]
) -> None:
    for name, kept in WITHOUT_A_LIST:
        if name.split(".")[0] in tested_traces:
            table = RULES[name].object_name
            rows = broken.sql(f"from {table} where {kept}").to_arrow_table()
            tables.execute(f"delete from {table}; insert into {table} from rows")
            assert len(rows) > 0
            assert count(tables, name) == 0, (name, kept)
