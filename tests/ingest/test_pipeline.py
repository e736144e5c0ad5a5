import gzip
import os
import signal
import subprocess
import sysconfig
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import command_line
import duckdb
import pytest
import suites
from few_files import ingest_raw as ingest
from few_files import quiet, tar_gz, write

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.write import database
from tracehouse.ingest import pipeline
from tracehouse.ingest.convert import incremental
from tracehouse.ingest.convert.raw_file import Task
from tracehouse.ingest.dump.identify import MatchedFile
from tracehouse.ingest.store import lock, records
from tracehouse.ingest.store.records import Conversion

TRACES = Path(sysconfig.get_path("scripts")) / "traces"

NODE = b"sn,cpu_milli,memory_mib,gpu,model\n"
TRAIN = b"dataset,network,batch_size,optimizer,learning_rate,run,target_metric,target_epoch\n"
POWER = b"dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"
RAW_JOB = b"job_id,submission_time,duration,num_gpu\n"
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"
PAGE = b"<!DOCTYPE html><html></html>"
XML_ERROR = b"<?xml version='1.0'?>\n<Error><Code>AccessDenied</Code></Error>"


def names_of(conversions: Sequence[Conversion]) -> list[str]:
    return sorted(f"{conversion.trace}.{conversion.table}" for conversion in conversions)


def published_rows(warehouse: Path) -> dict[str, int]:
    rows: Counter[str] = Counter()
    for conversion in records.read_conversions(warehouse):
        rows[conversion.table_name] += conversion.rows
    return dict(rows)


def modification_times(warehouse: Path, conversions: Sequence[Conversion] | None = None) -> dict[str, int]:
    """Return the modification time of each Parquet file of the given or all published conversions."""
    chosen = records.read_conversions(warehouse) if conversions is None else conversions
    paths = [file.path for c in chosen for file in (*c.files, *c.rejected)]
    return {path: (warehouse / path).stat().st_mtime_ns for path in paths}


THREE = {
    "openb_node_list_all_node.csv": NODE + b"n1,1,2,0,\n" * 9 + b"n2,1,x,0,\n",
    "zeus/summary_power_a40.csv": POWER + b"d,n,8,adam,100,1.5,90.5\n",
    "zeus/summary_train.csv": TRAIN + b"d,n,8,adam,1e-1,1,0.5,nan\n",
}


def test_skips_unchanged_files(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", THREE), tmp_path / "warehouse"
    first = ingest(raw, warehouse)
    assert names_of(first.converted) == ["openb.node", "zeus.power", "zeus.train"]
    before = modification_times(warehouse)
    assert len(before) == 4

    again = ingest(raw, warehouse)
    assert again.converted == ()
    assert names_of(again.unchanged) == names_of(first.converted)
    assert modification_times(warehouse) == before

    # Neither a new modification time nor another folder is a change.
    os.utime(raw / "openb_node_list_all_node.csv", (0, 0))
    (raw / "zeus" / "summary_train.csv").rename(raw / "summary_train.csv")
    assert ingest(raw, warehouse).converted == ()
    assert modification_times(warehouse) == before


def test_converts_only_changed_files(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", THREE), tmp_path / "warehouse"
    ingest(raw, warehouse)
    before = modification_times(warehouse)
    write(raw, {"zeus/summary_train.csv": TRAIN + b"d,n,9,adam,1e-1,1,0.5,2\n"})
    outcome = ingest(raw, warehouse)
    assert names_of(outcome.converted) == ["zeus.train"] and outcome.notes == ()
    assert published_rows(warehouse) == {"openb.node": 9, "zeus.power": 1, "zeus.train": 1}
    assert len(before.items() & modification_times(warehouse).items()) == 3


V100 = {"summary_power_v100.csv": POWER + b"d,n,8,adam,100,1.5,90.5\n"}


def test_adds_files_and_keeps_rows_of_absent_ones(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", THREE), tmp_path / "warehouse"
    ingest(raw, warehouse)
    more = write(tmp_path / "more", V100)
    outcome = ingest(more, warehouse)
    assert names_of(outcome.converted) == ["zeus.power"]
    assert outcome.notes == ()
    assert published_rows(warehouse) == {"openb.node": 9, "zeus.power": 2, "zeus.train": 1}
    # Ingesting the first folder again, or both, changes nothing.
    assert ingest(raw, warehouse).converted == ingest([raw, more], warehouse).converted == ()
    assert published_rows(warehouse)["zeus.power"] == 2


def test_replace_keeps_only_found_files_and_reports_removed_rows(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", THREE | V100), tmp_path / "warehouse"
    ingest(raw, warehouse)
    (raw / "zeus/summary_power_a40.csv").unlink()
    (raw / "openb_node_list_all_node.csv").unlink()
    outcome = ingest(raw, warehouse, replacing=True)
    assert outcome.notes == ("zeus/summary_power_a40.csv: removed its 1 rows from zeus.power",)
    # No file of openb was found, so nothing replaces its rows.
    assert published_rows(warehouse) == {"openb.node": 9, "zeus.power": 1, "zeus.train": 1}


@pytest.mark.parametrize("rows", [0, 4])
def test_rejects_version_with_far_fewer_rows_without_replace(rows: int, tmp_path: Path) -> None:
    raw = write(tmp_path / "raw", {"openb_node_list_all_node.csv": NODE + b"n1,1,2,0,\n" * 9})
    warehouse = tmp_path / "warehouse"
    ingest(raw, warehouse)
    write(raw, {"openb_node_list_all_node.csv": NODE + b"n1,1,2,0,\n" * rows})
    (problem,) = ingest(raw, warehouse).problems
    assert f"it has {rows} rows for openb.node; the version in the warehouse has 9" in str(problem)
    assert "--replace" in str(problem)
    assert published_rows(warehouse) == {"openb.node": 9}
    assert set(modification_times(warehouse)) == {
        path.relative_to(warehouse).as_posix() for path in (warehouse / "parquet").rglob("*.parquet")
    }
    outcome = ingest(raw, warehouse, replacing=True)
    assert published_rows(warehouse) == {"openb.node": rows}
    assert f"all_node.csv has {rows} rows for openb.node; it had 9" in " ".join(outcome.notes)


def test_reports_a_version_with_every_row_twice(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", THREE), tmp_path / "warehouse"
    ingest(raw, warehouse)
    row = b"d,n,8,adam,1e-1,1,0.5,nan\n"
    write(raw, {"zeus/summary_train.csv": TRAIN + row * 2})
    what = "zeus/summary_train.csv: summary_train.csv has 2 rows for zeus.train; it had 1"
    assert ingest(raw, warehouse).notes == (what,)


def test_reports_rows_of_member_removed_from_archive(tmp_path: Path) -> None:
    members = {f"cluster0{n}.csv": RAW_JOB + b"a,1,600,1\n" * n for n in (1, 2, 3)}
    raw, warehouse = write(tmp_path / "raw", {"raw-traces.tar.gz": tar_gz(members)}), tmp_path / "warehouse"
    ingest(raw, warehouse)
    del members["cluster01.csv"]
    write(raw, {"raw-traces.tar.gz": tar_gz(members)})
    outcome = ingest(raw, warehouse)
    assert outcome.notes == (
        "raw-traces.tar.gz no longer contains cluster01.csv: itp.raw_job loses its 1 rows",
    )
    assert published_rows(warehouse) == {"itp.raw_job": 5}


def test_forget_removes_rows_until_file_is_ingested_again(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", THREE | V100), tmp_path / "warehouse"
    database.ingest([raw], warehouse, [], quiet)
    assert database.forget(warehouse, ["summary_power_a40.csv", "summary_tr*"]) == [
        "zeus/summary_power_a40.csv: removed its 1 rows from zeus.power",
        "zeus/summary_train.csv: removed its 1 rows from zeus.train",
    ]
    assert published_rows(warehouse) == {"openb.node": 9, "zeus.power": 1}
    assert answer(warehouse) == [(0, 9, 1, 0)]
    with pytest.raises(UsageError, match=r"summary_power_p100.csv\. Did you mean summary_power_v100.csv"):
        database.forget(warehouse, ["summary_power_p100.csv"])
    assert names_of(ingest(raw, warehouse).converted) == ["zeus.power", "zeus.train"]


def test_converts_again_and_reports_damaged_parquet(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", THREE), tmp_path / "warehouse"
    ingest(raw, warehouse)
    (path,) = (warehouse / "parquet" / "openb" / "node").rglob("*.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    outcome = ingest(raw, warehouse)
    sizes = f"it has {len(whole) - 50:,} bytes; {len(whole):,} were written"
    assert outcome.notes[0] == f"{path}: {sizes}; openb_node_list_all_node.csv is converted again"
    assert path.read_bytes() == whole


@suites.of("long")
def test_damaged_parquet_without_raw_file_is_error_with_advice(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", THREE), tmp_path / "warehouse"
    database.ingest([raw], warehouse, [], quiet)
    (path,) = (warehouse / "parquet" / "openb" / "node").rglob("*.parquet")
    path.write_bytes(path.read_bytes()[:-50])
    (raw / "openb_node_list_all_node.csv").unlink()
    for command in (["ingest", "--raw", raw], ["build"]):
        run = command_line.server().run(*command, "--warehouse", warehouse)
        assert run.faults(codes=(1,)) == []
        assert f"error: {path}: it has " in run.stderr
        assert "traces forget openb_node_list_all_node.csv" in run.stderr
    database.forget(warehouse, ["openb_node_list_all_node.csv"])
    assert command_line.server().run("build", "--warehouse", warehouse).code == 0


def test_changed_declaration_converts_again(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", THREE), tmp_path / "warehouse"
    ingest(raw, warehouse)
    node, power, *others = records.read_conversions(warehouse)
    records.publish(warehouse, [node, replace(power, fingerprint="that of another declaration"), *others])
    assert names_of(ingest(raw, warehouse).converted) == ["zeus.power"]


def test_reads_only_named_traces(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", THREE | {"other.csv": b"x"}), tmp_path / "warehouse"
    assert names_of(ingest(raw, warehouse, "openb").conversions) == ["openb.node"]
    write(raw, {"openb_node_list_all_node.csv": PAGE})
    outcome = ingest(raw, warehouse, "zeus")
    assert names_of(outcome.converted) == ["zeus.power", "zeus.train"]
    assert outcome.problems == ()
    assert outcome.unrecognised == ("other.csv",)
    assert sorted(published_rows(warehouse)) == ["openb.node", "zeus.power", "zeus.train"]


def traces(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(TRACES), *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=command_line.TIMEOUT_S,
    )


# One file for each table, so that each is a separate problem.
PROBLEMS = {
    "cluster_summary.csv": (b"", "the file is empty"),
    "job_trace/trace_seren.csv": (LFS_POINTER, "lfs pull --include trace_seren.csv"),
    "raw-traces.tar.gz": (PAGE, "this is a web page"),
    "elasticflow-traces.tar.gz.partab": (gzip.compress(b"x"), "this part of the archive is missing"),
    "openb_node_list_all_node.csv": (
        b"\xff\xfe" + NODE.decode().encode("utf-16-le"),
        "this is text in UTF-16, not in UTF-8",
    ),
    "pai_group_tag_table.tar.gz": (XML_ERROR, "this is a web page"),
    "pai_instance_table.tar.gz": (b"404: Not Found", "the content is not what the name says"),
    "pai_job_table.tar.gz": (gzip.compress(b""), "cut short or damaged"),
    "pai_machine_metric.tar.gz": (
        tar_gz({"LICENSE": b"x"}),
        "the archive contains no file of pai.machine_metric",
    ),
    "pai_machine_spec.csv": (
        b"m1,T4,96,512,2\nm2,T4,96,512,2.5\n" * 1500,
        "line 2: 1,500 of its 3,000 rows do not fit",
    ),
    "pai_sensor_table.tar.gz.partaa": (tar_gz({"pai_sensor_table.csv": b"x"})[:60], "cut short or damaged"),
    "pai_task_table.csv": (b"a,b\n", "line 1: the line has 2 columns; expected 10"),
    "zeus/alibaba_groups.csv.xz": (b"\xfd7zXZ\0\0\4", "cut short or damaged"),
    "zeus/summary_power_a40.csv": (POWER + b'"', "line 2: 1 of its 1 rows do not fit"),
}


def test_each_problem_is_one_line_and_rest_is_published(tmp_path: Path) -> None:
    files = {name: data for name, (data, _) in PROBLEMS.items()}
    raw = write(
        tmp_path / "raw", files | {"zeus/summary_train.csv": TRAIN + b"d,n,8,adam,1e-1,x,0.5,nan\n" * 2}
    )
    write(
        raw,
        {
            "zeus/summary_train.csv": TRAIN
            + b"d,n,8,adam,1e-1,1,0.5,2\n" * 9
            + b'"d, e",n,8,adam,1e-1,1.5,0.5,2\n'
        },
    )
    (raw / "openb_pod_list_default.csv").symlink_to(tmp_path / "gone")
    warehouse = tmp_path / "warehouse"
    run = traces("ingest", "--raw", raw, "--warehouse", warehouse)
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    assert run.stdout.startswith("zeus.train: 9 rows from 1 file, 1 rejected (see catalog.rejected_rows)\n")
    *errors, summary = run.stderr.splitlines()
    count = len(PROBLEMS) + 1
    assert (
        summary == f"error: {count} files could not be ingested. Rows of earlier versions, if any, are kept"
    )
    assert all(line.startswith(f"error: {raw}") for line in errors)
    assert len(errors) == count
    expected = {name: what for name, (_, what) in PROBLEMS.items()}
    expected["elasticflow-traces.tar.gz.partaa"] = expected.pop("elasticflow-traces.tar.gz.partab")
    expected["openb_pod_list_default.csv"] = "it cannot be read (No such file or directory)"
    for name, what in expected.items():
        (line,) = (line for line in errors if line.startswith(f"error: {raw / name}"))
        assert what in line
    with duckdb.connect(str(warehouse / database.DATABASE), read_only=True) as connection:
        rejected = connection.execute(
            "select file, line, reason, raw_text from catalog.rejected_rows"
        ).fetchall()
        assert rejected == [
            (
                "zeus/summary_train.csv",
                11,
                "column run (BIGINT): invalid value '1.5'",
                '"d, e",n,8,adam,1e-1,1.5,0.5,2',
            )
        ]
        account = "select rows_read, rows_kept, rows_rejected from catalog.sources where file = $file"
        assert connection.execute(account, {"file": "zeus/summary_train.csv"}).fetchall() == [(10, 9, 1)]


def answer(warehouse: Path) -> list[tuple]:
    with duckdb.connect(str(warehouse / database.DATABASE), read_only=True) as connection:
        return connection.execute(
            """
            select
                (select count(*) from itp.raw_job),
                (select count(*) from openb.node),
                (select count(*) from zeus.power),
                (select count(*) from zeus.train),
            """
        ).fetchall()


def many(header: bytes, rows: int, row: bytes) -> bytes:
    return header + b"".join(row % number for number in range(rows))


def version(rows: int) -> dict[str, bytes]:
    return {
        "cluster01.csv": many(RAW_JOB, rows, b"a%d,1,600,1\n"),
        "openb_node_list_all_node.csv": many(NODE, rows, b"n%d,1,2,0,\n"),
        "summary_power_a40.csv": many(POWER, rows, b"d,n,%d,adam,100,1.5,90.5\n"),
        "summary_train.csv": many(TRAIN, rows, b"d,n,%d,adam,1e-1,1,0.5,2\n"),
    }


def test_reads_each_record_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An ingest of many small files takes time with their number, not with its square."""
    count = 40
    files = {f"openb_node_list_{number}.csv": NODE + b"n%d,1,2,0,\n" % number for number in range(count)}
    raw, warehouse = write(tmp_path / "raw", files), tmp_path / "warehouse"
    reads: Counter[str] = Counter()
    read_text = Path.read_text

    def count_reads(path: Path, *arguments: Any, **options: Any) -> str:
        reads[path.parent.name if path.parent.name == "records" else path.name] += 1
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", count_reads)
    for _ in range(2):
        reads.clear()
        assert len(ingest(raw, warehouse).conversions) == count
        assert reads["datapackage.json"] <= 6 and reads["records"] <= 6 * count
    # An interrupted ingest has converted other versions of them.
    for number in range(count):
        write(raw, {f"openb_node_list_{number}.csv": NODE + b"n%d,1,2,0,\n" % (number + count)})
    with lock.acquire(warehouse):
        assert len(pipeline.convert([raw], warehouse, [], quiet).converted) == count
    reads.clear()
    assert len(ingest(raw, warehouse).unchanged) == count
    assert reads["datapackage.json"] <= 6 and reads["records"] <= 12 * count


def test_write_error_of_one_table_stops_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The largest file is converted first, so its table fails before the others finish.
    largest = {"openb_node_list_all_node.csv": many(NODE, 100, b"n%d,1,2,0,\n")}
    raw, warehouse = write(tmp_path / "raw", version(2) | largest), tmp_path / "warehouse"
    convert = incremental.convert

    def failing(task: Task, matched: MatchedFile, *rest: Any) -> tuple:
        if matched.table_name == "openb.node":
            raise UserError("disk full")
        while not stopped.is_set():
            task.on_bytes(0)
        return convert(task, matched, *rest)

    monkeypatch.setattr(incremental, "convert", failing)
    stopped = threading.Event()
    timer = threading.Timer(20, stopped.set)
    timer.start()
    with pytest.raises(UserError, match="disk full"):
        ingest(raw, warehouse)
    assert not stopped.is_set(), "the other tables were converted"
    timer.cancel()
    assert records.read_finished(warehouse) == []


def test_interrupted_ingest_ends_at_once_and_resumes(tmp_path: Path) -> None:
    raw, warehouse = write(tmp_path / "raw", version(200_000)), tmp_path / "warehouse"
    command = [str(TRACES), "ingest", "--raw", str(raw), "--warehouse", str(warehouse)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8"
    ) as running:
        while not (warehouse / ".ingest" / "staging").exists():
            assert running.poll() is None
            time.sleep(0.001)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=command_line.TIMEOUT_S)
    stopped = "Stopped. Converted files are kept, and the next ingest resumes there. "
    assert (running.returncode, errors) == (130, f"{stopped}There is no database yet\n")
    database.ingest([raw], warehouse, [], quiet)
    assert answer(warehouse) == [(200_000,) * 4]
