import gzip
import hashlib
import lzma
import subprocess
import sysconfig
import tempfile
from pathlib import Path

import duckdb
import pytest
from few_files import ingest, only, refusal, stored, tar_gz, write

from tracehouse.engines.duckdb.write import template
from tracehouse.ingest.dump.raw_files import MARKER_NAME
from tracehouse.ingest.pipeline import IngestResult
from tracehouse.ingest.store import records
from tracehouse.ingest.store.records import Conversion, Source

TRACES = Path(sysconfig.get_path("scripts")) / "traces"
HEADER = b"machine,gpu_type,cap_cpu,cap_mem,cap_gpu"
MACHINES = b"m2,V100,96,512,8\nm1,T4,96,512,2\nm3,CPU,64,256,0\n"
MACHINE_ROWS = [("m2", "V100", 96, 512, 8), ("m1", "T4", 96, 512, 2), ("m3", "CPU", 64, 256, 0)]
RAW_JOB = b"job_id,submission_time,duration,num_gpu\n"
POWER = (
    b"dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"
    b"d,n,%d,adam,100,1.5,90.5\n"
)
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"


def rejected(folder: Path, *conversions: Conversion) -> list[tuple]:
    files = [str(folder / "warehouse" / file.path) for c in conversions for file in c.rejected]
    rows = (
        duckdb.connect().execute("from read_parquet($files) order by file, line", {"files": files}).fetchall()
    )
    assert len(rows) == sum(file.rows for c in conversions for file in c.rejected)
    return rows


def job_csv(*lines: str) -> bytes:
    return RAW_JOB + "".join(f"{line}\n" for line in lines).encode()


ARCHIVE = tar_gz({"._pai_machine_spec.csv": b"\0fork", "LICENSE": b"x", "pai_machine_spec.csv": MACHINES})
FORMS = {
    "archive": {"pai_machine_spec.tar.gz": ARCHIVE},
    "archive in parts": {
        "pai_machine_spec.tar.gz.partaa": ARCHIVE[:50],
        "pai_machine_spec.tar.gz.partab": ARCHIVE[50:51],
        "pai_machine_spec.tar.gz.partac": ARCHIVE[51:],
    },
    "csv": {"pai_machine_spec.csv": MACHINES},
    "csv.gz": {"pai_machine_spec.csv.gz": gzip.compress(MACHINES)},
    "csv.xz": {"pai_machine_spec.csv.xz": lzma.compress(MACHINES)},
    "header file": {"pai_machine_spec.csv": MACHINES, "pai_machine_spec.header": HEADER + b"\n"},
    "header file, windows": {
        "pai_machine_spec.csv": MACHINES,
        "pai_machine_spec.header": b"\xef\xbb\xbf" + HEADER + b"\r\n",
    },
    "header line inside": {"pai_machine_spec.csv": HEADER + b"\r\n" + MACHINES.replace(b"\n", b"\r\n")},
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_rows(form: str, tmp_path: Path) -> None:
    conversion = only(ingest(tmp_path, FORMS[form]))
    assert conversion.key[:3] == ("pai", "machine_spec", "")
    assert conversion.source.removesuffix(".csv") == "pai_machine_spec"
    assert stored(tmp_path, conversion) == MACHINE_ROWS
    (source,) = conversion.sources
    assert (source.rows_read, source.rows_kept, source.rows_rejected) == (3, 3, 0)
    data = [data for name, data in FORMS[form].items() if not name.endswith(".header")]
    assert source.sha256 == hashlib.sha256(b"".join(data)).hexdigest()
    assert source.bytes == len(b"".join(data))
    assert source.parts == len(data)
    assert source.member == "pai_machine_spec.csv"
    assert not source.synthetic


def test_rejects_archive_with_a_csv_twice(tmp_path: Path) -> None:
    data = tar_gz({"a/cluster01.csv": job_csv("a,1,600,1"), "b/cluster01.csv": job_csv("b,1,600,1")})
    problem = refusal(ingest(tmp_path, {"raw-traces.tar.gz": data}))
    assert problem.startswith(
        f"{tmp_path / 'raw' / 'raw-traces.tar.gz'}: the archive contains cluster01.csv twice"
    )


def test_accounts_for_every_row(tmp_path: Path) -> None:
    many = ["z,9,600,1"] * 20
    members = {
        "cluster01.csv": job_csv("a,1,600,1", "b,1.5,600,1", "", "c,3.0,600,1", "d,1,600", *many),
        "cluster02.csv": job_csv("e,1,600,1"),
    }
    files = {
        "raw-traces.tar.gz": tar_gz(members),
        "more/cluster03.csv": job_csv('"f,f",x,600,1', "g,1,600,1", *many).replace(b"\n", b"\r\n"),
    }
    converted = ingest(tmp_path, files).converted
    kept = [row[1:3] for row in stored(tmp_path, *converted) if row[1] != "z"]
    assert kept == [("a", 1), ("c", 3), ("e", 1), ("g", 1)]
    sources = [source for conversion in converted for source in conversion.sources]
    accounts = {s.member: (s.file, s.rows_read, s.rows_kept, s.rows_rejected) for s in sources}
    assert accounts == {
        "cluster01.csv": ("raw-traces.tar.gz", 24, 22, 2),
        "cluster02.csv": ("raw-traces.tar.gz", 1, 1, 0),
        "cluster03.csv": ("more/cluster03.csv", 22, 21, 1),
    }
    invalid = "column submission_time (BIGINT): invalid value"
    assert rejected(tmp_path, *converted) == [
        ("itp.raw_job", "more/cluster03.csv", "cluster03.csv", 2, f"{invalid} 'x'", '"f,f",x,600,1'),
        ("itp.raw_job", "raw-traces.tar.gz", "cluster01.csv", 3, f"{invalid} '1.5'", "b,1.5,600,1"),
        ("itp.raw_job", "raw-traces.tar.gz", "cluster01.csv", 6, "3 columns; expected 4", "d,1,600"),
    ]
    assert [conversion.rows for conversion in converted] == [23, 21]
    rejections = [stored for conversion in converted for stored in conversion.rejected]
    assert all(stored.path.startswith("parquet/itp/_rejected/") for stored in rejections)


def test_notes_a_last_line_without_a_newline(tmp_path: Path) -> None:
    """Only its size can tell that a plain file was cut inside its last number. A cut archive is an error."""
    note = "kept the last line, which has no newline: check that the file was not cut"
    lines = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "p,1000,1024,1,1000\n" * 2
    content = {"gpuspec05": lines[:-1], "default": lines[:-1], "multigpu50": lines}
    files = {f"openb_pod_list_{name}.csv": text.encode() for name, text in content.items()}
    outcome = ingest(tmp_path / "openb", files)
    assert [conversion.rows for conversion in outcome.converted] == [2, 2, 2]
    assert [text for text in sorted(outcome.notes) if "SHA-256" not in text] == [
        f"openb_pod_list_{name}.csv: {note}; it is {size:,} bytes shorter than the publisher's"
        for name, size in (("default", 575_469 - len(lines)), ("gpuspec05", 577_177 - len(lines)))
    ]
    wide = b"date,vc1,total\n2020-04-01,8,8"
    assert ingest(tmp_path / "wide", {"Venus/cluster_gpu_number.csv": wide}).notes == (
        f"Venus/cluster_gpu_number.csv: {note}",
    )
    # The publisher's files have no newline at the end.
    columns = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
    member = f"{columns}a,1,2,bert,3,4,1,600".encode()
    assert ingest(tmp_path / "itp", {"elasticflow-traces.tar.gz": tar_gz({"195job.csv": member})}).notes == ()


def only_source(outcome: IngestResult) -> Source:
    (source,) = only(outcome).sources
    return source


def test_checks_published_checksum(real_raw: Path, tmp_path: Path) -> None:
    archive = (real_raw / "pai" / "data" / "pai_machine_spec.tar.gz").read_bytes()
    name = "pai_machine_spec.tar.gz"
    outcome = ingest(tmp_path / "real", {name: archive})
    assert only_source(outcome).checksum == "published"
    assert only_source(outcome).rows_read == 1897
    assert outcome.notes == ()

    # The same archive, except the byte of the gzip header for the operating system.
    outcome = ingest(tmp_path / "differs", {name: archive[:9] + bytes([archive[9] ^ 1]) + archive[10:]})
    assert only_source(outcome).checksum == "differs"
    sha256 = only_source(outcome).sha256
    published = hashlib.sha256(archive).hexdigest()
    assert outcome.notes == (f"{name}: its SHA-256 is {sha256}; the publisher's is {published}",)
    assert stored(tmp_path / "differs", only(outcome)) == stored(tmp_path / "real", only(outcome))

    parts = {f"{name}.partaa": archive[:1000], f"{name}.partab": archive[1000:]}
    assert only_source(ingest(tmp_path / "parts", parts)).checksum == "published"
    assert (
        only_source(ingest(tmp_path / "none", {"summary_power_a40.csv": POWER % 1})).checksum
        == "none published"
    )


def test_marks_synthetic_file_and_ignores_its_checksum(tmp_path: Path) -> None:
    outcome = ingest(tmp_path, FORMS["archive"] | {MARKER_NAME: b"made up"})
    assert only_source(outcome).synthetic
    assert only_source(outcome).checksum == "differs"
    assert outcome.notes == ()
    (tmp_path / "raw" / MARKER_NAME).unlink()
    assert not only_source(ingest(tmp_path, {})).synthetic


def test_extracts_nothing_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    seen: set[str] = set()

    def list_files(*_: object) -> None:
        seen.update(path.name for path in tmp_path.rglob("*") if path.is_file() and "raw" not in path.parts)

    lines = b"".join(b"job%d,%d,600,1\n" % (number, number) for number in range(100_000))
    archive = tar_gz({"cluster01.csv": RAW_JOB + lines}, level=0)
    ingest(tmp_path, {"raw-traces.tar.gz": archive}, list_files)
    assert seen == {"lock"}
    assert list(temporary.iterdir()) == []


def test_reports_every_byte_read(tmp_path: Path) -> None:
    reports: list[tuple[str, int, int]] = []
    files = FORMS["archive in parts"] | {"summary_power_a40.csv": POWER % 1}
    ingest(tmp_path, files, lambda *report: reports.append(report))
    tables = {"pai.machine_spec": len(ARCHIVE), "zeus.power a40": len(POWER % 1)}
    # Reports with total 0 are those of the search of the raw folders.
    assert {(label, total) for label, _, total in reports} == {*tables.items(), ("finding raw files", 0)}
    for table, size in tables.items():
        assert sum(more for label, more, _ in reports if label == table) == size


@pytest.mark.parametrize(("rows", "what"), [(40_000, "itp.raw_job"), (2, "traces.duckdb")])
def test_full_disk_is_an_error_without_traceback(rows: int, what: str, tmp_path: Path) -> None:
    # The limit concerns the warehouse, not the template of its database.
    template.template()
    ids = (hashlib.sha256(b"%d" % number).hexdigest().encode() for number in range(rows))
    lines = b"".join(b"%s,%d,600,1\n" % (job_id, number) for number, job_id in enumerate(ids))
    raw = write(tmp_path / "raw", {"cluster01.csv": RAW_JOB + lines})
    command = (
        f"ulimit -f 512; trap '' XFSZ; exec {TRACES} ingest --raw {raw} --warehouse {tmp_path / 'warehouse'}"
    )
    run = subprocess.run(["bash", "-c", command], capture_output=True, encoding="utf-8")
    assert run.returncode == 1
    assert run.stderr.startswith(f"error: {tmp_path / 'warehouse'}: cannot write {what} (")
    assert "Free disk space, and run the same command again" in run.stderr
    (conversion,) = records.read_finished(tmp_path / "warehouse") or [only(ingest(tmp_path, {}))]
    assert conversion.files[0].rows == rows
