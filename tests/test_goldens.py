"""Every view and query answers over the fixture as in `tests/goldens`; `make goldens` writes these files.

With --only-trace, the file of this trace: the answers of `catalog` and `unified` need all traces.
"""

import difflib
from collections.abc import Callable, Collection
from functools import cache, partial
from pathlib import Path

import duckdb
import goldens
import pytest
from one_quantity import find_disagreements

from tracehouse.core.text import quoted

# The numbers of rows that ingest read, kept and rejected belong to the answers.
OF_CATALOG = (
    "from (select table_name, sum(rows_read) as rows_read, sum(rows_kept) as rows_kept,"
    " sum(rows_rejected) as rows_rejected from catalog.sources group by table_name order by table_name)",
    "from (select table_name, file, line, reason from catalog.rejected_rows order by all)",
)

# Views of which a golden file has a part, because the whole has hundreds of thousands of rows.
OF_ACME = " where trace = 'acme' and not is_by_partition"
PARTS = {f"unified.allocation_hour_v{version}": OF_ACME for version in (1, 2)}


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
        found.setdefault(name.split(".")[0], set()).add(f"from {name}{PARTS.get(name, '')}")
    return found


Run = Callable[[str], goldens.Answer]


@pytest.fixture(scope="module")
def run(connection: duckdb.DuckDBPyConnection) -> Run:
    """A function that runs each statement once."""
    return cache(partial(goldens.run, connection))


@pytest.mark.each_trace
def test_answers_are_the_golden_ones(
    connection: duckdb.DuckDBPyConnection, run: Run, pytestconfig: pytest.Config
) -> None:
    differences: list[str] = []
    required = schemas(connection)
    chosen = pytestconfig.getoption("only_trace")
    every = {*required, *(path.stem for path in goldens.FOLDER.glob("*.txt"))}
    for schema in [chosen] if chosen else sorted(every):
        path = goldens.FOLDER / f"{schema}.txt"
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        wanted = {*goldens.statements(old), *required.get(schema, ())}
        if pytestconfig.getoption("write_goldens"):
            wanted |= set(other_calls(connection, wanted, schema).values())
        new = goldens.page({statement: _answer(run, statement) for statement in wanted})
        if pytestconfig.getoption("write_goldens"):
            path.write_text(new, encoding="utf-8")
        elif new != old:
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), path.name, "now", lineterm="")
            differences += [*lines][:60]
    assert not differences, "\n".join(["`make goldens` writes these changes:", *differences])


def other_calls(connection: duckdb.DuckDBPyConnection, known: Collection[str], schema: str) -> dict[str, str]:
    """Return a call with another value for each query of a schema that has parameters and no such call."""
    found: dict[str, str] = {}
    parameters = connection.execute(
        "select query_name, parameter, type, default_value, choices, at_least, at_most, values_of"
        " from catalog.query_parameters where starts_with(query_name, $schema || '.')"
        " order by query_name, position",
        {"schema": schema},
    ).fetchall()
    for name, parameter, kind, default, *limits in parameters:
        if not any(call.startswith(f"from {name}(") and call != f"from {name}()" for call in known):
            value = _other_value(connection, kind, default, *limits)
            found.setdefault(name, f"from {name}({parameter} := {value})")
    return found


def _other_value(
    connection: duckdb.DuckDBPyConnection,
    kind: str,
    default: str | None,
    choices: list[str],
    at_least: str | None,
    at_most: str | None,
    values_of: str | None,
) -> str:
    """Return an allowed value of a parameter, as SQL, that is not its default."""
    allowed = [*(choices or ()), *filter(None, (at_least, at_most))]
    if kind.lower() == "boolean":
        allowed = ["true", "false"]
    if values_of:
        table, _, column = values_of.rpartition(".")
        values = f'select distinct cast("{column}" as varchar) from {table} order by all nulls last'
        allowed = [value for (value,) in connection.execute(values).fetchall() if value is not None]
    is_text = kind.lower() in ("varchar", "date") or kind.lower().startswith("timestamp")
    written = [quoted(value) if is_text else value for value in allowed]
    return next((value for value in written if value != default), "null")


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
    lacking = [
        other_calls(connection, goldens.statements(path.read_text(encoding="utf-8")), path.stem)
        for path in goldens.FOLDER.glob("*.txt")
    ]
    assert [calls for calls in lacking if calls] == [], "run `make goldens`"


def test_no_golden_answer_is_an_error() -> None:
    found = [
        (statement, answer)
        for path in goldens.FOLDER.glob("*.txt")
        for statement, answer in goldens.answers(path.read_text(encoding="utf-8")).items()
        if "Error: " in answer
    ]
    assert found == []
