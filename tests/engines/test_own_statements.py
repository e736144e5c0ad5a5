"""Own views and queries with 300 random statements. DuckDB alone decides which of them are valid."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import command_line
import duckdb
import own_statements
import pytest
import suites
from random_seed import DEPTH, SEED

from tracehouse.core.errors import UserError
from tracehouse.engines.duckdb.read import answer, describe, sandbox
from tracehouse.engines.duckdb.read.binding import bind_query, bind_statement
from tracehouse.engines.duckdb.write import database
from tracehouse.engines.duckdb.write.build import BuildReport
from tracehouse.engines.duckdb.write.lint import lint_own
from tracehouse.publish.columns import columns_of, rows_of

NODES = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\nb,1000,1024,0,\n"
STATEMENTS = {
    Path(path).name.split(".")[0]: (path, text, body)
    for path, text, body in own_statements.files(SEED, 300 * DEPTH)
}
# Why a file may be refused although DuckDB can run its statement.
REFUSALS = ("add the schema to ", "nested too deeply", "more than one ")

pytestmark = suites.of("long")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BuildReport]:
    folder = tmp_path_factory.mktemp("own")
    (folder / "raw").mkdir()
    (folder / "raw" / "openb_node_list_gpu_node.csv").write_text(NODES, encoding="utf-8")
    written = own_statements.FIRST | {path: text for path, text, _ in STATEMENTS.values()}
    for name, text in written.items():
        path = folder / "warehouse" / "local" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    database.ingest([folder / "raw"], folder / "warehouse", [], lambda *_: None, materialize=False)
    return folder / "warehouse", database.build(folder / "warehouse", materialize=False)


@pytest.fixture(scope="module")
def connection(built: tuple[Path, BuildReport]) -> Iterator[duckdb.DuckDBPyConnection]:
    with sandbox.connect(built[0]) as opened:
        yield opened


def names_created(connection: duckdb.DuckDBPyConnection) -> set[str]:
    sql = """
        select query_name from catalog.queries where query_name like 'mine.%'
        union all
        select view_name from catalog.views where view_name like 'mine.%'
        """
    return {name.removeprefix("mine.") for (name,) in connection.execute(sql).fetchall()}


def test_creates_each_statement_that_duckdb_can_run(
    built: tuple[Path, BuildReport], connection: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    warehouse, outcome = built
    not_built = dict(connection.execute("from catalog.not_built").fetchall())
    assert not_built == {problem.name: problem.error for problem in outcome.problems}
    assert names_created(connection) | {name.removeprefix("mine.") for name in not_built} == {
        *STATEMENTS,
        "first",
        "limited",
    }
    assert names_created(connection).isdisjoint(name.removeprefix("mine.") for name in not_built)
    shutil.copy(warehouse / database.DATABASE, tmp_path / "copy.duckdb")
    with duckdb.connect() as alone:
        alone.execute(f"attach '{tmp_path}/copy.duckdb' as building; use building; create schema other")
        for name, (path, text, _) in STATEMENTS.items():
            error = not_built.get(f"mine.{name}", "")
            assert not error or error.startswith(f"{warehouse}/local/{path}"), error
            try:
                alone.execute(text.replace(f" mine.{name}", f" other.{name}", 1))
            except duckdb.Error:
                assert error, text
            else:
                assert not error or any(reason in error for reason in REFUSALS), (text, error)


def run(connection: duckdb.DuckDBPyConnection, name: str, statement: str) -> tuple[list, list]:
    """Describe and run a view or query, by its name and in a statement, as all commands do."""
    describe.describe(connection, name)
    found = answer.run(connection, bind_query(connection, name, {}))
    columns = columns_of(connection, found.query)
    rows = list(rows_of(connection, found.query, columns))
    answer.why_empty(found)
    assert columns_of(connection, bind_statement(connection, statement)) == columns
    return columns, rows


def spelling(column: str) -> str:
    """Return a name without what a stored statement changes in it, such as 1000 for the name 1_000."""
    return column.lower().replace("_", "")


def test_answers_what_duckdb_answers(connection: duckdb.DuckDBPyConnection) -> None:
    answered = 0
    names = random.Random(SEED).sample(sorted(names_created(connection) & STATEMENTS.keys()), 25 * DEPTH)
    for name in names:
        _, text, body = STATEMENTS[name]
        try:
            expected = [column for column, *_ in connection.execute(f"describe {body}").fetchall()]
            connection.execute(body).fetchall()
        except duckdb.Error:
            expected = []
        try:
            columns, _ = run(connection, f"mine.{name}", f"from mine.{name}{'()' * name.startswith('q')}")
        except (UserError, duckdb.Error) as error:
            assert not expected, (text, str(error))
        else:
            listed = "select column_name from catalog.columns where object_name = ? order by position"
            recorded = connection.execute(listed, [f"mine.{name}"]).fetchall()
            found = [spelling(column) for column, _ in columns]
            assert found == [spelling(column) for (column,) in recorded] and len(found) == len(expected), text
            answered += 1
    assert answered > len(names) / 2


def test_commands_on_own_statements_give_no_traceback(built: tuple[Path, BuildReport]) -> None:
    warehouse, _ = built
    server = command_line.server()
    for arguments in (
        ("list", "queries", "mine", "--all"),
        ("list", "views", "mine"),
    ):
        assert server.run(*arguments, "--warehouse", warehouse).faults() == []
    # Each command takes half a second, so that all would take an hour at a greater depth.
    for name in random.Random(SEED).sample(sorted(STATEMENTS), 2 * DEPTH):
        for arguments in (("query", f"mine.{name}"), ("describe", f"mine.{name}")):
            assert server.run(*arguments, "--warehouse", warehouse).faults() == [], name


def test_lint_says_what_the_build_does(built: tuple[Path, BuildReport]) -> None:
    warehouse, outcome = built
    found = {f"{one.place}: {one.message}" for one in lint_own(warehouse / "local") if one.rule == "valid"}
    assert found == {problem.error for problem in outcome.problems}
