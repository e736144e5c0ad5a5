"""Raw files in every packing, unreadable files and files that change, from the folder to the stored rows."""

import io
import json
import os
import shutil
import subprocess
import sysconfig
import tarfile
from pathlib import Path

import duckdb
import pytest
from command_line import TIMEOUT_S
from few_files import ingest, only, quiet, tar_gz, write, zipped

from tracehouse.engines.duckdb.write import database
from tracehouse.ingest import pipeline
from tracehouse.ingest.store import lock

TRACES = Path(sysconfig.get_path("scripts")) / "traces"
MACHINES = b"m2,V100,96,512,8\nm1,T4,96,512,2\nm3,CPU,64,256,0\n"
MACHINE_ROWS = [("m1", "T4", 96, 512, 2), ("m2", "V100", 96, 512, 8), ("m3", "CPU", 64, 256, 0)]
RAW_JOB = b"job_id,submission_time,duration,num_gpu\n"
POWER = (
    b"dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"
    b"d,n,%d,adam,100,1.5,90.5\n"
)


def job_csv(*lines: str) -> bytes:
    return RAW_JOB + "".join(f"{line}\n" for line in lines).encode()


ARCHIVE = tar_gz({"LICENSE": b"x", "data/pai_machine_spec.csv": MACHINES})


def test_lists_archives_of_other_names(tmp_path: Path) -> None:
    outcome = ingest(tmp_path, {"AcmeTrace-main.zip": zipped({"trace_seren.csv": b"x"}), "a.7z": b"x"})
    assert outcome.unrecognised == ("AcmeTrace-main.zip", "a.7z")
    assert outcome.notes == ("AcmeTrace-main.zip: no trace has an archive of this name: unpack it",)


def test_reports_link_in_archive(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("cluster01.csv")
        info.size = len(job_csv("a,1,600,1"))
        archive.addfile(info, io.BytesIO(job_csv("a,1,600,1")))
        link = tarfile.TarInfo("cluster02.csv")
        link.type, link.linkname = tarfile.LNKTYPE, "cluster01.csv"
        archive.addfile(link)
    outcome = ingest(tmp_path, {"raw-traces.tar.gz": packed.getvalue()})
    assert len(only(outcome).sources) == 1
    assert outcome.notes == ("raw-traces.tar.gz: skipped cluster02.csv, which is a link",)


def test_file_that_changes_while_read_stops_no_other(tmp_path: Path) -> None:
    lines = b"".join(b"job%d,%d,600,1\n" % (number, number) for number in range(100_000))
    raw = tmp_path / "raw"

    def write_on(label: str, *_: object) -> None:
        if label == "itp.raw_job":
            with (raw / "cluster01.csv").open("ab") as file:
                file.write(b"more,1,600,1\n")

    outcome = ingest(
        tmp_path, {"cluster01.csv": RAW_JOB + lines} | {"pai_machine_spec.tar.gz": ARCHIVE}, write_on
    )
    (problem,) = outcome.problems
    assert str(problem).startswith(f"{raw / 'cluster01.csv'}: it changed while it was read. Wait until")
    assert [conversion.table for conversion in outcome.converted] == ["machine_spec"]


@pytest.mark.parametrize("again", [False, True], ids=["first ingest", "unchanged"])
def test_file_that_vanishes_stops_no_other(again: bool, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    files = {"pai_machine_spec.tar.gz": ARCHIVE} | {
        "summary_power_a40.csv": POWER % 1,
        "summary_power_v100.csv": POWER % 2,
    }
    if again:
        ingest(tmp_path, files)

    def remove(label: str, *_: object) -> None:
        if label.startswith("zeus.power"):
            (raw / "summary_power_v100.csv").unlink(missing_ok=True)

    outcome = ingest(tmp_path, files, remove)
    (problem,) = outcome.problems
    gone = raw / "summary_power_v100.csv"
    assert str(problem).startswith(f"{gone}: it cannot be read (No such file or directory). Make it readable")
    assert "machine_spec" in [conversion.table for conversion in (*outcome.converted, *outcome.unchanged)]


def test_stores_names_that_are_not_utf8(tmp_path: Path) -> None:
    folder = tmp_path / "raw" / os.fsdecode(b"caf\xe9\x1b[2J")
    folder.mkdir(parents=True)
    files = {
        os.fsdecode(b"\xff/pai_machine_spec.tar.gz"): tar_gz(
            {"\udcfe/pai_machine_spec.csv": MACHINES, "\udcfd.csv": b"x"}
        ),
        "summary_power_a40.csv": POWER % 1 + b"d,n,x,adam,100,1.5,90.5\n" + b"d,n,1,adam,100,1.5,90.5\n" * 8,
        "cluster_summary.csv": b"",
    }
    write(folder, files)
    warehouse = tmp_path / "warehouse"
    shown = "caf\\xe9\\x1b[2J"
    for outcome in (database.ingest([folder.parent], warehouse, [], quiet), ingest(tmp_path, {})):
        (problem,) = outcome.problems
        assert str(problem).startswith(f"{tmp_path}/raw/{shown}/cluster_summary.csv: the file is empty")
    with duckdb.connect(str(warehouse / database.DATABASE), read_only=True) as connection:
        sources = "select file, rows_read from catalog.sources order by file"
        assert connection.execute(sources).fetchall() == [
            (f"{shown}/\\xff/pai_machine_spec.tar.gz", 3),
            (f"{shown}/summary_power_a40.csv", 10),
        ]
        rejects = "select distinct file from catalog.rejected_rows"
        assert connection.execute(rejects).fetchall() == [(f"{shown}/summary_power_a40.csv",)]
    manifest = json.loads((warehouse / "datapackage.json").read_text())
    assert json.dumps(manifest, ensure_ascii=False).isprintable()


def test_finds_no_raw_files_in_warehouse(tmp_path: Path) -> None:
    write(tmp_path, {"parquet/mine.csv": b"x", "raw/summary_power_a40.csv": POWER % 1})
    for warehouse, unrecognised in ((tmp_path / "warehouse", ("parquet/mine.csv",)), (tmp_path, ())):
        ingest(tmp_path, {})
        (warehouse / database.DATABASE).touch()
        with lock.acquire(warehouse):
            assert pipeline.convert([tmp_path], warehouse, [], quiet).unrecognised == unrecognised


def without_privileges() -> list[str]:
    """Return the prefix of a command to which file permissions apply even if root runs the tests."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root may read every file, and setpriv is not installed to remove this privilege")
    return ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]


def test_names_unreadable_files_and_reads_the_others(tmp_path: Path) -> None:
    files = {f"summary_power_{gpu}.csv": POWER % 1 for gpu in ("a40", "p100", "rtx6000", "v100")}
    files |= {"locked/raw-traces.tar.gz": b"", "a.7z": b"x", "pai_machine_spec.tar.gz": ARCHIVE}
    raw = write(tmp_path / "raw", files)
    locked = [raw / "locked", raw / "summary_power_v100.csv"]
    modes = [path.stat().st_mode for path in locked]
    for path in locked:
        path.chmod(0)
    command = [*without_privileges(), TRACES, "ingest", "--raw", raw, "--warehouse", tmp_path / "warehouse"]
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=TIMEOUT_S)
    for path, mode in zip(locked, modes, strict=True):
        path.chmod(mode)
    assert run.returncode == 1
    assert run.stdout.splitlines()[:2] == [
        "pai.machine_spec: 3 rows from 1 file",
        "zeus.power: 3 rows from 3 files",
    ]
    assert run.stderr.splitlines()[1:] == [
        "Skipped 1 unrecognised file: a.7z",
        f"error: {locked[0]}: the folder cannot be read (Permission denied). "
        "Make it readable, or move it away",
        f"error: {locked[1]}: it cannot be read (Permission denied). Make it readable, or move it out of the"
        " raw folder",
        "error: 2 files could not be read. Rows of earlier versions, if any, are kept",
    ]
