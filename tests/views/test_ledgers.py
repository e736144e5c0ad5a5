"""Invalid ledgers are rejected when they are read; the error names file and line."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from tracehouse.core.errors import DefinitionError
from tracehouse.ingest.declarations import Column, all_traces
from tracehouse.views import ledgers

CAVEAT = {
    "caveat": "itp.pitfall",
    "severity": "wrong result",
    "summary": "It goes wrong.",
    "objects": "itp.raw_job itp.raw_job.duration",
    "what_goes_wrong": "It does.",
    "what_to_do": "This.",
    "documented_in": "README",
}
CLOCK = {
    "clock": "itp.time",
    "objects": "itp.raw_job.submission_time itp.elasticflow_job.submission_time itp.elasticflow_job.deadline",
    "epoch": "start",
    "zone": "unknown",
    "local_offset_s": "unknown",
    "scale": "1",
    "resolution_s": "1",
    "true_parts": "order",
    "fake_parts": "none",
    "documented_in": "README",
}


def write(folder: Path, name: str, *rows: dict[str, str], trace: str = "itp") -> Path:
    path = folder / trace / name
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return folder


def test_reads_valid_ledgers(tmp_path: Path) -> None:
    (caveat,) = ledgers.caveats(write(tmp_path, "caveats.csv", CAVEAT))
    assert (caveat.name, caveat.trace, caveat.objects) == (
        "itp.pitfall",
        "itp",
        ("itp.raw_job", "itp.raw_job.duration"),
    )
    (clock,) = ledgers.clocks(write(tmp_path, "clocks.csv", CLOCK))
    assert clock.resolution_s == 1.0


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"objects": ""}, "itp/caveats.csv: itp.pitfall: objects is empty"),
        ({"what_to_do": ""}, "itp/caveats.csv: itp.pitfall: what_to_do is empty"),
        ({"summary": ""}, "itp/caveats.csv: itp.pitfall: summary is empty"),
        ({"summary": "x" * 101}, "itp.pitfall: summary has 101 characters, at most 100 are allowed"),
        ({"severity": "grave"}, "itp.pitfall: severity must be wrong result or limited result or background"),
        (
            {"objects": "itp.raw_job.colour"},
            "itp.pitfall: itp.raw_job.colour is not a table or column of itp",
        ),
        ({"objects": "pai.task"}, "itp.pitfall: pai.task is not a table or column of itp"),
        (
            {"caveat": "pai.pitfall"},
            "pai.pitfall: the name must be itp. and words in lower case",
        ),
    ],
)
def test_rejects_invalid_caveat(change: dict[str, str], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        ledgers.caveats(write(tmp_path, "caveats.csv", CAVEAT | change))


def test_rejects_repeated_caveat(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"caveats\.csv: itp\.pitfall occurs twice"):
        ledgers.caveats(write(tmp_path, "caveats.csv", CAVEAT, CAVEAT))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"objects": "itp.raw_job.submitted"}, "itp.time: itp.raw_job.submitted is not a table or column"),
        ({"resolution_s": "fine"}, "itp.time: resolution_s must be a number of at least 0, not 'fine'"),
        ({"scale": "-1"}, "itp.time: scale must be a number of at least 0, not '-1'"),
        ({"local_offset_s": ""}, "itp.time: local_offset_s is empty"),
        ({"objects": "itp.raw_job"}, r"no clock has itp\.raw_job\.submission_time among its objects"),
        ({"zone": ""}, "itp.time: zone is empty"),
    ],
)
def test_rejects_invalid_clock(change: dict[str, str], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        ledgers.clocks(write(tmp_path, "clocks.csv", CLOCK | change))


def test_rejects_ledger_of_unknown_trace(tmp_path: Path) -> None:
    for name, row, read in (("caveats.csv", CAVEAT, ledgers.caveats), ("clocks.csv", CLOCK, ledgers.clocks)):
        with pytest.raises(DefinitionError, match="no trace is called mars"):
            read(write(tmp_path, name, row, trace="mars"))


def test_reads_offset_and_scale_of_a_clock(tmp_path: Path) -> None:
    (clock,) = ledgers.clocks(write(tmp_path, "clocks.csv", CLOCK))
    assert (clock.local_offset_s, clock.scale) == (None, 1.0)
    west = CLOCK | {"local_offset_s": "-28800", "scale": "0.95"}
    (clock,) = ledgers.clocks(write(tmp_path, "clocks.csv", west))
    assert (clock.local_offset_s, clock.scale) == (-28800.0, 0.95)


def test_rejects_times_without_a_clock(tmp_path: Path) -> None:
    clock = CLOCK | {"clock": "acme.jobs", "objects": "acme.job_trace.submit_time"}
    with pytest.raises(DefinitionError, match=r"no clock has acme\.job_trace\.start_time"):
        ledgers.clocks(write(tmp_path, "clocks.csv", clock, trace="acme"))
    (tmp_path / "acme" / "clocks.csv").unlink()
    (tmp_path / "acme").rmdir()
    clock = CLOCK | {"objects": "itp.raw_job.submission_time itp.elasticflow_job.submission_time"}
    with pytest.raises(DefinitionError, match=r"no clock .* itp\.elasticflow_job\.deadline .*is_duration"):
        ledgers.clocks(write(tmp_path, "clocks.csv", clock))


def test_rejects_times_in_keys_without_a_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = all_traces()["itp"]
    day = Column("day", "TIMESTAMP", "Day, from the file's name")
    tables = tuple(replace(table, keys=(*table.keys, day)) for table in trace.tables)
    monkeypatch.setattr(ledgers, "all_traces", lambda: {"itp": replace(trace, tables=tables)})
    with pytest.raises(DefinitionError, match=r"no clock has itp\.raw_job\.day among its objects"):
        ledgers.clocks(write(tmp_path, "clocks.csv", CLOCK))


def test_times_are_instants_or_counts_that_are_not_durations() -> None:
    assert Column("at", "TIMESTAMP", "").is_time and Column("at", "UNIX_MS", "").is_time
    assert Column("at", "BIGINT", "", unit="ms").is_time
    assert not Column("ran", "DOUBLE", "", unit="s", is_duration=True).is_time
    assert not Column("power", "DOUBLE", "", unit="W").is_time
