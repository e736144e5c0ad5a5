"""A macro in the DuckDB shell and `traces query` with the same arguments give the same rows."""

import re
from pathlib import Path

import duckdb
import goldens

from tracehouse.engines.duckdb.read import answer, binding, sandbox
from tracehouse.engines.duckdb.write import database

# These arguments name a table of the user. tests/views/test_openb_by_hand.py tests them.
OF_A_TABLE = "residual_v1"


CALLS_OF_A_SCHEMA = 4


def calls() -> list[str]:
    """Return some calls of each schema that set parameters by name."""
    found = []
    for path in sorted(goldens.FOLDER.glob("*.txt")):
        statements = [text for text in goldens.statements(path.read_text(encoding="utf-8")) if " := " in text]
        found += [text for text in statements if OF_A_TABLE not in text][:CALLS_OF_A_SCHEMA]
    return [statement.removeprefix("from ") for statement in found]


def arguments_of(call: str) -> dict[str, str] | None:
    """Return the arguments of a call as texts, or None if some have no name."""
    named = re.findall(r"(\w+) := ('[^']*'|[\w.-]+)", call)
    given = call[call.index("(") + 1 : -1]
    if given.count(":=") != len(named) or (given and not re.match(r"\w+ :=", given)):
        return None
    return {name: value.strip("'") for name, value in named}


def test_query_equals_macro(fixture_warehouse: Path) -> None:
    different = []
    with (
        duckdb.connect(str(fixture_warehouse / database.DATABASE), read_only=True) as shell,
        sandbox.connect(fixture_warehouse) as opened,
    ):
        shell.execute("set timezone = 'UTC'")
        for call in calls():
            arguments = arguments_of(call)
            if arguments is None:
                continue
            bound = binding.bind_query(opened, call.split("(")[0], arguments)
            if answer.read(opened, bound).read_all() != shell.sql(f"from {call}").to_arrow_table():
                different.append(call)
    assert different == []
