"""Finding raw files: names decide, headers confirm, and each file is found, refused or listed."""

import gzip
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import pytest
from few_files import ingest, quiet, tar_gz, write, zipped

from tracehouse.engines.names import DATABASE
from tracehouse.ingest import pipeline
from tracehouse.ingest.declare.metadata import SkippedFile
from tracehouse.ingest.declare.trace import all_traces
from tracehouse.ingest.dump import open as dump_open
from tracehouse.ingest.dump.find import find
from tracehouse.ingest.dump.identify import Identified, identify
from tracehouse.ingest.store import lock, noted_files

RAW_JOB = b"job_id,submission_time,duration,num_gpu\na,1,600,4\n"
ELASTICFLOW_JOB = (
    b"job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
    b"a,1,100,vgg16,900,64,4,600\n"
)
NODE = b"sn,cpu_milli,memory_mib,gpu,model\nn1,1000,2000,1,T4\n"
MACHINES = b"m1,T4,96,512,2\n"
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"
PAGE = b"<!DOCTYPE html><html></html>"


def find_in(folders: Path | Sequence[Path], *names: str) -> Identified:
    traces = all_traces()
    chosen = [traces[name] for name in names or traces]
    found = find([folders] if isinstance(folders, Path) else folders, chosen, traces.values())
    return identify(found, chosen, traces.values(), {})


def tables(found: Identified) -> dict[str, str]:
    """Map the path of each raw file below its raw folder to its table."""
    return {m.raw.relative_name: f"{m.trace.name}.{m.table.name}" for m in found.matched}


def test_combines_parts_unless_the_whole_file_is_next_to_them(tmp_path: Path) -> None:
    data = tar_gz({"pai_machine_spec.csv": MACHINES})
    parts = {"ab": data[40:80], "aa": data[:40], "ac": data[80:]}
    write(tmp_path, {f"data/pai_machine_spec.tar.gz.part{letters}": part for letters, part in parts.items()})
    (matched,) = find_in(tmp_path).matched
    assert [path.suffix for path in matched.raw.paths] == [".partaa", ".partab", ".partac"]
    assert matched.raw.relative_name == "data/pai_machine_spec.tar.gz"
    assert matched.raw.bytes == len(data)

    whole = tmp_path / "data" / "pai_machine_spec.tar.gz"
    whole.write_bytes(data)
    found = find_in(tmp_path)
    assert [matched.raw.paths for matched in found.matched] == [(whole,)]
    assert found.notes == (
        "skipped the 3 parts of data/pai_machine_spec.tar.gz: the whole file is next to them",
    )

    whole.with_name("pai_machine_spec.tar.gz.partab").unlink()
    found = find_in(tmp_path)
    assert not found.matched
    (problem,) = found.problems
    assert f"the 2 parts differ from {whole} ({len(data) - 40} and {len(data)} bytes). Move the parts" in str(
        problem
    )

    whole.unlink()
    (problem,) = find_in(tmp_path).problems
    assert str(problem).startswith(f"{whole}.partab: this part of the archive is missing. Fetch")


def test_distinguishes_csvs_of_one_name_by_header(tmp_path: Path) -> None:
    for ending, compress in ((".csv", bytes), (".csv.gz", gzip.compress)):
        files = {
            f"raw-traces/cluster01{ending}": compress(b"\xef\xbb\xbf" + RAW_JOB.replace(b"\n", b"\r\n")),
            f"elasticflow-traces/cluster01{ending}": compress(ELASTICFLOW_JOB),
            f"elasticflow-traces/195job{ending}": compress(ELASTICFLOW_JOB),
        }
        write(tmp_path / ending, files)
        assert tables(find_in(tmp_path / ending)) == {
            name: "itp.raw_job" if "raw" in name else "itp.elasticflow_job" for name in files
        }


def test_skips_documents_and_lists_unrecognised_data(tmp_path: Path) -> None:
    others = ["mine.csv", "mine.csv.gz", "cluster_summary (1).csv", "deep/er/other.csv.xz"]
    others += ["mine.ZIP", "mine.tar.part1", "mine.7z", "summary_train.csv.1", "summary_train.csv.crdownload"]
    others += ["summary_train", "summary_train.parquet", "notes.txt", "summary_train.csv.aa"]
    silent = [
        "README.md",
        "readme",
        "README.zh.txt",
        "LICENSE",
        "LICENCE.txt",
        "SHA256SUMS",
        "SYNTHETIC.txt",
        "analysis.ipynb",
        "a.pdf",
        "._summary_train.csv",
        ".hidden.csv",
        ".git/objects/summary_train.csv",
    ]
    silent += ["__MACOSX/._summary_train.csv", "._pai_machine_spec.tar.gz.partaa", "pai_machine_spec.header"]
    write(tmp_path, dict.fromkeys(others + silent, b"x\n"))
    found = find_in(tmp_path)
    assert found.unrecognised == tuple(sorted(others))
    assert not found.matched
    assert not found.problems


def test_says_why_a_trace_skips_a_file(tmp_path: Path) -> None:
    columns = (
        b"Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    )
    names = ["BurstGPT_without_fails_1.csv", "BurstGPT_without_fails_2.csv.gz"]
    files = {names[0]: columns, names[1]: gzip.compress(columns), "burst.csv": columns}
    write(tmp_path, files | {"BurstGPT_1.csv": columns})
    reason = (
        "left out, because it repeats BurstGPT_[123].csv without the failed requests;"
        " `traces fetch burstgpt` loads those files"
    )
    found = find_in(tmp_path)
    assert tables(found) == {"BurstGPT_1.csv": "burstgpt.raw_request"}
    assert found.unrecognised == ("burst.csv",)
    renamed, *skipped = found.notes
    called = "has the columns of burstgpt.raw_request, whose files are called BurstGPT_([123]).csv: rename it"
    assert renamed == f"burst.csv: {called}"
    assert skipped == [f"{name}: {reason}" for name in names]
    other = find_in(tmp_path, "itp")
    assert other.unrecognised == ("burst.csv",) and reason not in "".join(other.notes)


def test_names_the_files_that_replace_an_earlier_release(tmp_path: Path) -> None:
    write(tmp_path, {"mooncake_trace.jsonl": b"{}\n"})
    found = find_in(tmp_path)
    assert not found.matched and not found.unrecognised
    (note,) = found.notes
    assert note.startswith("mooncake_trace.jsonl: left out, because it is an earlier release; `traces fetch")


def test_the_case_of_a_folder_does_not_matter(tmp_path: Path) -> None:
    files = ("data/venus/cluster_log.csv", "EARTH/cluster_gpu_number.csv", "x/Kalos/GPU_UTIL.csv.gz")
    write(tmp_path, dict.fromkeys(files, b"x\n"))
    found = find_in(tmp_path)
    assert {matched.group for matched in found.matched} == {
        ("helios", "job", "cluster=Venus"),
        ("helios", "gpu_count", "cluster=Earth"),
        ("acme", "gpu_metric", "cluster=kalos/metric=GPU_UTIL"),
    }
    assert not found.unrecognised and not found.notes


def test_names_the_folder_that_a_file_needs(tmp_path: Path) -> None:
    names = ("cluster_log.csv", "new/GPU_UTIL.csv", "venus2/cluster_log.csv", "venus_log.csv")
    header = ",".join(column.name for column in all_traces()["helios"].table("job").columns)
    write(tmp_path, {name: f"{header}\n".encode() for name in names})
    found = find_in(tmp_path)
    assert found.unrecognised == names
    needed = "in a folder called Earth or Saturn or Uranus or Venus"
    named = "has the name of a file of"
    assert sorted(found.notes) == [
        f"cluster_log.csv: {named} helios.job. Put it {needed}",
        f"new/GPU_UTIL.csv: {named} acme.gpu_metric. Put it in a folder called seren or kalos",
        f"venus2/cluster_log.csv: {named} helios.job. Put it {needed}",
        "venus_log.csv: has the columns of helios.job, whose files are called cluster_log.csv"
        f" {needed}: rename it",
    ]


def test_reads_a_file_of_no_table_once_for_all_tables_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_open, "_SETTLED_S", -1)
    opened: list[str] = []
    open_regular = dump_open.open_regular

    def count(path: Path, *arguments: int) -> BinaryIO:
        opened.append(path.name)
        return open_regular(path, *arguments)

    monkeypatch.setattr(dump_open, "open_regular", count)
    write(tmp_path / "raw", {"mine.csv": b"x\n", "jobs.csv": RAW_JOB})
    note = "jobs.csv: has the columns of itp.raw_job"
    for expected in (["jobs.csv", "mine.csv"], []):
        opened.clear()
        outcome = ingest(tmp_path, {})
        assert sorted(set(opened)) == expected
        # The first bytes are checked before a file is read.
        assert len(opened) <= 2 * len(expected)
        assert [one.partition(", whose")[0] for one in outcome.notes] == [note]

    opened.clear()
    outcome = ingest(tmp_path, {"jobs.csv": NODE})
    assert set(opened) == {"jobs.csv"}
    assert outcome.notes[0].startswith("jobs.csv: has the columns of openb.node,")

    # Other declarations may have a table for it.
    traces = list(all_traces().values())
    assert {Path(path).name for path in noted_files.read(tmp_path / "warehouse", traces)} == {
        "jobs.csv",
        "mine.csv",
    }
    assert noted_files.read(tmp_path / "warehouse", traces[1:]) == {}
    (tmp_path / "warehouse" / ".ingest" / "unrecognised.json").write_text(
        '{"declarations": ', encoding="utf-8"
    )
    assert noted_files.read(tmp_path / "warehouse", traces) == {}


def test_a_table_comes_before_the_skipped_files_of_another_trace(tmp_path: Path) -> None:
    known = all_traces()
    every = SkippedFile(".*", "there is no reason")
    traces = [replace(trace, skipped_files=(every,)) for trace in known.values()]
    write(tmp_path, {"summary_train.csv": b"x\n", "mine.7z": b"x"})
    found = identify(find([tmp_path], traces, traces), traces, traces, {})
    assert tables(found) == {"summary_train.csv": "zeus.train"}
    assert found.notes == ("mine.7z: left out, because there is no reason",) and not found.unrecognised


def test_a_file_without_failures_is_left_out_under_either_name(tmp_path: Path) -> None:
    write(tmp_path, {"BurstGPT_without_fails.csv": b"x\n", "BurstGPT_without_fails_2.csv": b"x\n"})
    notes = find_in([tmp_path]).notes
    assert len(notes) == 2 and all("it repeats BurstGPT_[123].csv" in note for note in notes)


def test_finds_each_file_of_several_folders_once(tmp_path: Path) -> None:
    write(tmp_path / "a", {"in/summary_train.csv": b"x\n"})
    write(tmp_path / "b", {"summary_power_a40.csv": b"x\n"})
    folders = [tmp_path / "a" / "in", tmp_path / "b", tmp_path / "a", tmp_path / "a"]
    assert tables(find_in(folders)) == {
        "summary_train.csv": "zeus.train",
        "summary_power_a40.csv": "zeus.power",
    }


def test_lists_archives_of_other_names(tmp_path: Path) -> None:
    outcome = ingest(tmp_path, {"AcmeTrace-main.zip": zipped({"trace_seren.csv": b"x"}), "a.7z": b"x"})
    assert outcome.unrecognised == ("AcmeTrace-main.zip", "a.7z")
    assert outcome.notes == ("AcmeTrace-main.zip: no trace has an archive of this name: unpack it",)


def test_finds_no_raw_files_in_warehouse(tmp_path: Path) -> None:
    write(tmp_path, {"parquet/mine.csv": b"x", "raw/summary_power_a40.csv": b"x\n"})
    for warehouse, unrecognised in ((tmp_path / "warehouse", ("parquet/mine.csv",)), (tmp_path, ())):
        ingest(tmp_path, {})
        (warehouse / DATABASE).touch()
        with lock.acquire(warehouse):
            assert pipeline.convert([tmp_path], warehouse, [], quiet).unrecognised == unrecognised
