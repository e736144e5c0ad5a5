"""Every view and query answers over the fixture as in `tests/goldens`; `make goldens` writes these files."""

import difflib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import duckdb
import goldens
import pytest
from one_quantity import find_disagreements

# The numbers of rows that ingest read, kept and rejected belong to the answers.
OF_CATALOG = (
    "from (select table_name, sum(rows_read) as rows_read, sum(rows_kept) as rows_kept,"
    " sum(rows_rejected) as rows_rejected from catalog.sources group by table_name order by table_name)",
    "from (select table_name, file, line, reason from catalog.rejected_rows order by all)",
)


@pytest.fixture(scope="module")
def connection(fixture_warehouse: Path) -> duckdb.DuckDBPyConnection:
    opened = duckdb.connect(str(fixture_warehouse / "traces.duckdb"), read_only=True)
    opened.execute("set TimeZone = 'UTC'")
    return opened


def schemas(connection: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    """Return the statements that a golden file must have at least, by schema."""
    found = {"catalog": set(OF_CATALOG)}
    names = connection.execute(
        "select versioned_name from catalog.views"
        " union all select query_name || '()' from catalog.queries where query_name not in"
        " (select query_name from catalog.query_parameters where default_value is null)"
    ).fetchall()
    for (name,) in names:
        found.setdefault(name.split(".")[0], set()).add(f"from {name}")
    return found


Run = Callable[[str], goldens.Answer]


@pytest.fixture(scope="module")
def run(connection: duckdb.DuckDBPyConnection) -> Run:
    """A function that runs each statement once."""
    return cache(partial(goldens.run, connection))


def test_answers_are_the_golden_ones(
    connection: duckdb.DuckDBPyConnection, run: Run, pytestconfig: pytest.Config
) -> None:
    differences: list[str] = []
    required = schemas(connection)
    for schema in sorted({*required, *(path.stem for path in goldens.FOLDER.glob("*.txt"))}):
        path = goldens.FOLDER / f"{schema}.txt"
        old = path.read_text() if path.exists() else ""
        wanted = {*goldens.statements(old), *required.get(schema, ())}
        new = goldens.page({statement: _answer(run, statement) for statement in wanted})
        if pytestconfig.getoption("write_goldens"):
            path.write_text(new)
        elif new != old:
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), path.name, "now", lineterm="")
            differences += [*lines][:60]
    assert not differences, "\n".join(["`make goldens` writes these changes:", *differences])


def _answer(run: Run, statement: str) -> str:
    try:
        return goldens.as_text(statement, run(statement))
    except duckdb.Error as error:
        return f"  {type(error).__name__}: {error}\n".split("\n")[0] + "\n"


def test_queries_agree_on_quantities(connection: duckdb.DuckDBPyConnection, run: Run) -> None:
    def answer(query: str) -> dict[str, list]:
        found = run(f"from {query}()")
        return {name: [row[column] for row in found.rows] for column, name in enumerate(found.names)}

    assert [*find_disagreements(connection, answer)] == []


def test_queries_with_parameters_have_another_golden_answer(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute("select distinct query_name from catalog.query_parameters").fetchall()
    calls = [
        statement
        for path in goldens.FOLDER.glob("*.txt")
        for statement in goldens.statements(path.read_text())
    ]
    lacking = [
        name
        for (name,) in rows
        if not any(call.startswith(f"from {name}(") and call != f"from {name}()" for call in calls)
    ]
    assert lacking == []


def test_no_golden_answer_is_an_error() -> None:
    found = [
        (statement, answer)
        for path in goldens.FOLDER.glob("*.txt")
        for statement, answer in goldens.answers(path.read_text()).items()
        if "Error: " in answer
    ]
    assert found == []
