"""Philly's files as published: without extensions, in an archive or loose, with their irregularities."""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import duckdb
import pytest
import raw_dumps
from few_files import ingest_raw, quiet, tar_gz

from tracehouse.ingest import pipeline
from tracehouse.ingest.convert import raw_file
from tracehouse.ingest.convert.incremental import run_task
from tracehouse.ingest.convert.raw_file import Task
from tracehouse.ingest.dump.readers import json as json_reader
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store.records import Journal

# The examples in the publisher's README.
JOB = {
    "status": "Pass",
    "vc": "ee9e8c",
    "jobid": "application_1506638472019_14199",
    "attempts": [
        {
            "start_time": "2017-10-07 01:12:09",
            "end_time": "2017-10-07 01:13:23",
            "detail": [{"ip": "m47", "gpus": [f"gpu{gpu}" for gpu in range(8)]}],
        },
        {
            "start_time": "2017-10-07 01:13:30",
            "end_time": "2017-10-09 06:53:12",
            "detail": [{"ip": "m412", "gpus": [f"gpu{gpu}" for gpu in range(8)]}],
        },
    ],
    "submitted_time": "2017-10-07 01:11:39",
    "user": "ce2f4c",
}
GPU_HEADER = f"time,machineId,{','.join(f'gpu{gpu}_util' for gpu in range(8))}"
FILES = {
    "cluster_job_log": json.dumps([JOB]),
    "cluster_machine_list": "machineId, number of GPUs, single GPU mem\nm31,8, 24GB\nm47,2, 12GB\n",
    "cluster_gpu_util": f"{GPU_HEADER}\n"
    "2017-10-03 00:08:00 PDT,m29,60.8,99.366666667,100.0,63.333333333,100.0,100.0,100.0,100.0,\n",
    "cluster_cpu_util": "time,machine_id,cpu_util\n2017-11-27 00:04:00 PST,m29,31.845\n",
    "cluster_mem_util": "time,machine_id,mem_total,mem_free\n"
    "2017-10-03 00:06:00 PDT,m29,528272672.0,2030730.6667\n",
}
ROWS = {
    "job": 1,
    "attempt": 2,
    "attempt_machine": 2,
    "machine": 2,
    "gpu_util": 1,
    "cpu_util": 1,
    "mem_util": 1,
}


def write(raw: Path, archived: bool = False, **changed: str | bytes) -> Path:
    """Write the publisher's files below a raw folder, some with other content."""
    folder = raw / "philly" / "trace-data"
    folder.mkdir(parents=True)
    texts = {
        name: text.encode() if isinstance(text, str) else text for name, text in (FILES | changed).items()
    }
    if archived:
        members = {"._cluster_job_log": b"mac", "Makefile": b"all:"} | texts
        packed = tar_gz({f"trace-data/{name}": text for name, text in members.items()})
        Path(f"{folder}.tar.gz").write_bytes(packed)
    else:
        for name, text in texts.items():
            (folder / name).write_bytes(text)
    return raw


def test_job_log_is_accepted_or_refused_in_all_its_tables(tmp_path: Path) -> None:
    """The log has three tables. With 7 of 60 jobs invalid, only two of the tables have too many rejects."""
    jobs = [JOB | {"jobid": f"application_{n}"} for n in range(60)]
    raw = write(tmp_path / "raw", cluster_job_log=json.dumps(jobs))
    whole = ingest_raw(raw, tmp_path / "w")
    assert rows_by_table(whole)["job"] == 60
    (raw / "philly" / "trace-data" / "cluster_job_log").write_text(
        json.dumps([*jobs[:53], *[None] * 7]), encoding="utf-8"
    )
    broken = ingest_raw(raw, tmp_path / "w")
    assert [problem.file for problem in broken.problems] == [
        str(raw / "philly" / "trace-data" / "cluster_job_log")
    ]
    assert rows_by_table(broken) == rows_by_table(whole)
    assert broken.converted == ()
    assert {source.sha256 for c in broken.conversions for source in c.sources} == {
        source.sha256 for c in whole.conversions for source in c.sources
    }


def test_interrupted_ingest_leaves_all_tables_of_a_log_at_one_version(tmp_path: Path) -> None:
    """The ingest finished one of three tables of a new version, and then the log was damaged."""
    old, new = (json.dumps([JOB | {"user": user}]) for user in ("old", "new"))
    raw, warehouse = write(tmp_path / "raw", cluster_job_log=old), tmp_path / "w"
    log = raw / "philly" / "trace-data" / "cluster_job_log"
    ingest_raw(raw, warehouse)
    log.write_text(new, encoding="utf-8")

    def finish_one(tasks: Sequence[Task], *_: object) -> NoReturn:
        run_task(next(task for task in tasks if "attempt" in task.group), Journal(warehouse))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pipeline.convert([raw], warehouse, [], quiet, run_tasks=finish_one)
    log.write_text(old[:100], encoding="utf-8")
    found = ingest_raw(raw, warehouse)
    assert len(found.problems) == 1
    of_log = [c for c in found.conversions if c.table in ("job", "attempt", "attempt_machine")]
    assert [c.sha256 for c in of_log] == [hashlib.sha256(old.encode()).hexdigest()] * 3


@pytest.mark.parametrize(
    ("module", "name"),
    [(json_reader, "_parse_object"), (json_reader, "limit_rejects"), (raw_file, "reader_of")],
)
def test_unexpected_error_refuses_the_file_and_reads_the_others(
    module: ModuleType, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error occurs when a row is parsed, when batches are read, or when a reader is chosen."""
    before = getattr(module, name)

    def fail(*arguments: object) -> object:
        if module is raw_file and "cluster_job_log" not in arguments:
            return before(*arguments)
        raise ZeroDivisionError("surprise")

    monkeypatch.setattr(module, name, fail)
    found = ingest_raw(write(tmp_path / "raw"), tmp_path / "w")
    [problem] = found.problems
    assert "cluster_job_log: reading it failed unexpectedly (ZeroDivisionError: surprise)" in str(problem)
    assert rows_by_table(found).keys() == ROWS.keys() - {"job", "attempt", "attempt_machine"}


def rows_by_table(result: IngestResult) -> dict[str, int]:
    return {conversion.table: conversion.rows for conversion in result.conversions}


@pytest.mark.parametrize("archived", [False, True], ids=["loose", "archive"])
def test_reads_publishers_examples(tmp_path: Path, archived: bool) -> None:
    raw = write(tmp_path / "raw", archived)
    if not archived:
        (raw / "philly" / "Makefile").write_text("all:", encoding="utf-8")
        (raw / "philly" / "LICENSE").write_text("CC BY 4.0", encoding="utf-8")
    outcome = ingest_raw(raw, tmp_path / "warehouse")
    assert not outcome.problems and not outcome.notes
    assert rows_by_table(outcome) == ROWS
    assert outcome.unrecognised == (() if archived else ("philly/Makefile",))
    again = ingest_raw(raw, tmp_path / "warehouse")
    assert not again.converted and len(again.unchanged) == len(ROWS)


def open_database(tmp_path: Path, **changed: str) -> duckdb.DuckDBPyConnection:
    return raw_dumps.ingested(write(tmp_path / "raw", **changed), tmp_path / "warehouse")


def test_utilisation_has_instants_and_jobs_have_local_times(tmp_path: Path) -> None:
    twice = "".join(f"2017-11-05 01:30:00 {zone},m29,{use}\n" for zone, use in (("PDT", 1.5), ("PST", "NA")))
    with open_database(tmp_path, cluster_cpu_util=f"time,machine_id,cpu_util\n{twice}") as connection:
        connection.execute("set timezone = 'UTC'")
        assert connection.sql("select time, time_utc_offset, cpu_util from philly.cpu_util").fetchall() == [
            (datetime(2017, 11, 5, 8, 30, tzinfo=UTC), "-07:00", 1.5),
            (datetime(2017, 11, 5, 9, 30, tzinfo=UTC), "-08:00", None),
        ]
        assert connection.sql("select submitted_time from philly.job").fetchall() == [
            (datetime(2017, 10, 7, 1, 11, 39),)
        ]
        assert connection.sql("select submit_time, local_submit_s from philly.standard_job").fetchall() == [
            (None, None)
        ]
