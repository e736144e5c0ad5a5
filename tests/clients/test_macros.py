"""A macro in the DuckDB shell and `traces query` with the same arguments give the same rows."""

import datetime as dt
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import command_line
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
        statements = [text for text in goldens.statements(path.read_text()) if " := " in text]
        found += [text for text in statements if OF_A_TABLE not in text][:CALLS_OF_A_SCHEMA]
    return [statement.removeprefix("from ") for statement in found]


def arguments_of(call: str) -> dict[str, str] | None:
    """Return the arguments of a call as texts, or None if some have no name."""
    named = re.findall(r"(\w+) := ('[^']*'|[\w.-]+)", call)
    given = call[call.index("(") + 1 : -1]
    if given.count(":=") != len(named) or (given and not re.match(r"\w+ :=", given)):
        return None
    return {name: value.strip("'") for name, value in named}


def plain(value: Any) -> Any:
    """Return a value as JSON has it, with all digits."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dt.datetime) and value.tzinfo:
        # DuckDB omits the minutes of an offset of whole hours.
        return f"{value.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}+00"
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


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


def test_command_line_equals_macro(fixture_warehouse: Path) -> None:
    command = ["query", "openb.phases", "-p", "in_variant=gpushare40", "--format", "json"]
    done = command_line.server().run(*command, "--warehouse", fixture_warehouse)
    assert done.code == 0, done.stderr
    with duckdb.connect(str(fixture_warehouse / database.DATABASE), read_only=True) as shell:
        rows = shell.sql("from openb.phases(in_variant := 'gpushare40')").to_arrow_table().to_pylist()
    assert json.loads(done.stdout) == [{name: plain(value) for name, value in row.items()} for row in rows]
