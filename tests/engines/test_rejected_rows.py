"""Every answer from a table that lost rows says how many, in all interfaces."""

import json
from collections.abc import Iterator
from pathlib import Path

import command_line
import duckdb
import pytest
import suites
from conftest import FIXTURE

import tracehouse
from tracehouse.engines.duckdb.read import binding, notes, sandbox
from tracehouse.engines.request import NamedQuery, Request
from tracehouse.publish.site.contract import answer_request, describe_object

SEE = "see catalog.rejected_rows"
# The log of Venus has a month 13, and a list of pods two rows that do not fit.
LOGS = sum(
    len(path.read_text(encoding="utf-8").splitlines()) - 1
    for path in FIXTURE.glob("helios/data/*/cluster_log.csv")
)
HELIOS = f"rejected rows: helios.job: 1 of {LOGS} rows; {SEE}"


@pytest.fixture
def opened(fixture_warehouse: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with sandbox.connect(fixture_warehouse) as connection:
        yield connection


def rejected(found: object) -> list[str]:
    return [note.text for note in found if note.name == notes.REJECTED]


def test_notes_count_the_rejected_rows_of_the_tables_behind_an_answer(
    opened: duckdb.DuckDBPyConnection,
) -> None:
    for name in ("helios.states", "helios.job", "helios.standard_job"):
        assert rejected(notes.of_object(opened, name)) == [HELIOS], name
    assert rejected(notes.of_object(opened, "itp.gpu_hours")) == []
    statements = {
        "select count(*) from helios.job": [HELIOS],
        "select count(*) from itp.job": [],
        "select count(*) from unified.jobs where trace = 'helios'": [HELIOS],
        "select count(*) from unified.jobs where trace = 'itp'": [],
    }
    for sql, expected in statements.items():
        assert rejected(binding.bind_statement(opened, sql).notes) == expected, sql
    both = "select count(*) from helios.job where job_id not in (select name from openb.pod)"
    [text] = rejected(binding.bind_statement(opened, both).notes)
    assert text.startswith(HELIOS.removesuffix(SEE)) and "; openb.pod: 2 of " in text


@suites.of("long")
def test_every_interface_shows_them(fixture_warehouse: Path, opened: duckdb.DuckDBPyConnection) -> None:
    line = f"note: {HELIOS}"
    run = command_line.server().run(
        "query", "helios.states", "--warehouse", fixture_warehouse, "--format", "csv"
    )
    assert line in run.stderr.splitlines()
    answer = tracehouse.open(fixture_warehouse).query("helios.states")
    assert rejected(answer.caveats) == [HELIOS] and line in str(answer)
    # The pages and the MCP server send this.
    for found in (
        answer_request(opened, Request(NamedQuery("helios.states"), 9)),
        describe_object(opened, "helios.states"),
    ):
        assert HELIOS in [note["text"] for note in found["notes"]]


def test_an_export_shows_them(fixture_warehouse: Path, tmp_path: Path) -> None:
    given = {"TRACES_WAREHOUSE": str(fixture_warehouse)}
    run = command_line.server().run("export", "swf", "helios", "--out", tmp_path / "swf", environment=given)
    assert "rejected rows" in run.stdout
    assert (
        json.loads((tmp_path / "swf/export.json").read_text(encoding="utf-8"))["caveats"]["rejected rows"]
        == HELIOS
    )
