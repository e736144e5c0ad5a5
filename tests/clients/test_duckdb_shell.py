"""Tests with the DuckDB shell, in any working directory."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import goldens
from random_seed import some

from tracehouse.engines.duckdb.write import database

CHANGES = [
    "create table catalog.mine (i integer)",
    "create or replace view itp.job as select 1 as i",
    "create or replace macro itp.gpu_hours() as table select 1 as i",
    "drop view itp.job",
    "update catalog.traces set title = 'mine'",
    "comment on view itp.job is 'mine'",
]


def golden_counts() -> dict[str, int]:
    """Return the number of rows of each golden answer."""
    return {
        statement: int(re.findall(r"^  \((\d+) rows", expected, re.M)[-1])
        for statement, expected in goldens.all_answers().items()
    }


def counts(statements: list[str]) -> str:
    return "".join(f"select {n} as n, count(*) as rows {text};\n" for n, text in enumerate(statements))


def test_views_and_queries_answer(fixture_warehouse: Path, run: Callable, shell: Path) -> None:
    counted = {t: rows for t, rows in golden_counts().items() if not t.startswith(goldens.ROUNDED)}
    expected = {text: counted[text] for text in some([*counted], 150)}
    command = [shell, "-no-init", "-readonly", "-jsonlines", fixture_warehouse / database.DATABASE]
    lines = run(command, counts(list(expected))).stdout.splitlines()
    assert [json.loads(line)["rows"] for line in lines] == list(expected.values())


def test_read_only_database_rejects_changes(fixture_warehouse: Path, run: Callable, shell: Path) -> None:
    path = fixture_warehouse / database.DATABASE
    attach = f"attach '{path}' as other (read_only)"
    for change in CHANGES:
        for command in (
            [shell, "-no-init", "-readonly", path],
            [shell, "-no-init", "-c", attach, "-c", "use other"],
        ):
            done = run([*command, "-c", change], check=False)
            assert (done.returncode, "read-only" in done.stderr) == (1, True), change


def test_traces_shell_is_read_only_and_returns_the_exit_code(
    fixture_warehouse: Path, run: Callable, traces: Path
) -> None:
    command = [traces, "shell", "--warehouse", fixture_warehouse]
    done = run(command, f"{CHANGES[0]};", check=False)
    assert (done.returncode, "read-only" in done.stderr) == (1, True)


def test_traces_shell_answers_in_a_moved_folder(moved_warehouse: Path, run: Callable, traces: Path) -> None:
    expected = {text: rows for text, rows in golden_counts().items() if text.startswith("from openb.")}
    text = f".mode jsonlines\n{counts(list(expected))}"
    lines = run([traces, "shell", "--warehouse", moved_warehouse], text).stdout.splitlines()
    assert [json.loads(line)["rows"] for line in lines] == list(expected.values())
