"""A ledger that makes no sense is refused when it is read, with its place."""

import csv
from pathlib import Path

import pytest

from tracehouse.core.errors import DefinitionError
from tracehouse.ingest.declarations import Column
from tracehouse.views import ledgers

CAVEAT = {
    "caveat": "itp.trap",
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


def test_what_makes_sense_is_read(tmp_path: Path) -> None:
    (caveat,) = ledgers.caveats(write(tmp_path, "caveats.csv", CAVEAT))
    assert (caveat.name, caveat.trace, caveat.objects) == (
        "itp.trap",
        "itp",
        ("itp.raw_job", "itp.raw_job.duration"),
    )
    (clock,) = ledgers.clocks(write(tmp_path, "clocks.csv", CLOCK))
    assert clock.resolution_s == 1.0


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"objects": ""}, "itp/caveats.csv: itp.trap: its objects is empty"),
        ({"what_to_do": ""}, "itp/caveats.csv: itp.trap: its what_to_do is empty"),
        ({"objects": "itp.raw_job.colour"}, "itp.trap: itp.raw_job.colour is no table or column of itp"),
        ({"objects": "pai.task"}, "itp.trap: pai.task is no table or column of itp"),
        ({"caveat": "pai.trap"}, "itp/caveats.csv: pai.trap: its name is itp. and words in lower case"),
    ],
)
def test_a_caveat_that_makes_no_sense_is_refused(
    change: dict[str, str], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        ledgers.caveats(write(tmp_path, "caveats.csv", CAVEAT | change))


def test_a_caveat_is_there_once(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"itp\.trap is there twice"):
        ledgers.caveats(write(tmp_path, "caveats.csv", CAVEAT, CAVEAT))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"objects": "itp.raw_job.submitted"}, "itp.time: itp.raw_job.submitted is no table or column"),
        ({"resolution_s": "fine"}, "itp.time: its resolution_s is 'fine'"),
        ({"scale": "-1"}, "itp.time: its scale is '-1'"),
        ({"local_offset_s": ""}, "itp.time: its local_offset_s is empty"),
        ({"objects": "itp.raw_job"}, r"no clock tells the time of itp\.raw_job\.submission_time"),
        ({"zone": ""}, "itp.time: its zone is empty"),
    ],
)
def test_a_clock_that_makes_no_sense_is_refused(
    change: dict[str, str], complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(DefinitionError, match=complaint):
        ledgers.clocks(write(tmp_path, "clocks.csv", CLOCK | change))


def test_a_ledger_of_no_trace_is_refused(tmp_path: Path) -> None:
    for name, row, read in (("caveats.csv", CAVEAT, ledgers.caveats), ("clocks.csv", CLOCK, ledgers.clocks)):
        with pytest.raises(DefinitionError, match="there is no trace mars"):
            read(write(tmp_path, name, row, trace="mars"))


def test_a_clock_is_where_the_cluster_is_and_may_be_scaled(tmp_path: Path) -> None:
    (clock,) = ledgers.clocks(write(tmp_path, "clocks.csv", CLOCK))
    assert (clock.local_offset_s, clock.scale) == (None, 1.0)
    west = CLOCK | {"local_offset_s": "-28800", "scale": "0.95"}
    (clock,) = ledgers.clocks(write(tmp_path, "clocks.csv", west))
    assert (clock.local_offset_s, clock.scale) == (-28800.0, 0.95)


def test_every_time_has_a_clock(tmp_path: Path) -> None:
    clock = CLOCK | {"clock": "acme.jobs", "objects": "acme.job_trace.submit_time"}
    with pytest.raises(DefinitionError, match=r"no clock tells the time of acme\.job_trace\.start_time"):
        ledgers.clocks(write(tmp_path, "clocks.csv", clock, trace="acme"))
    (tmp_path / "acme" / "clocks.csv").unlink()
    (tmp_path / "acme").rmdir()
    clock = CLOCK | {"objects": "itp.raw_job.submission_time itp.elasticflow_job.submission_time"}
    with pytest.raises(DefinitionError, match=r"no clock .* itp\.elasticflow_job\.deadline; .*is_duration"):
        ledgers.clocks(write(tmp_path, "clocks.csv", clock))


def test_a_time_is_an_instant_or_a_count_that_is_no_duration() -> None:
    assert Column("at", "TIMESTAMP", "").is_time and Column("at", "UNIX_MS", "").is_time
    assert Column("at", "BIGINT", "", unit="ms").is_time
    assert not Column("ran", "DOUBLE", "", unit="s", is_duration=True).is_time
    assert not Column("power", "DOUBLE", "", unit="W").is_time
