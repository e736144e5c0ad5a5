import bz2
import gzip
import io
import lzma
import os
import socket
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from few_files import write, zipped

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declarations import Table, all_traces
from tracehouse.ingest.discovery import claims
from tracehouse.ingest.discovery.claims import Found, find
from tracehouse.ingest.readers import Reader

RAW_JOB = b"job_id,submission_time,duration,num_gpu\na,1,600,4\n"
ELASTICFLOW_JOB = (
    b"job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration\n"
    b"a,1,100,vgg16,900,64,4,600\n"
)
NODE = b"sn,cpu_milli,memory_mib,gpu,model\nn1,1000,2000,1,T4\n"
MACHINES = b"m1,T4,96,512,2\n"
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"
PAGE = b"<!DOCTYPE html><html></html>"


def tar_gz(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for stem, data in members.items():
            info = tarfile.TarInfo(f"data/{stem}.csv")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def find_in(folders: Path | Sequence[Path], *names: str) -> Found:
    traces = all_traces()
    chosen = [traces[name] for name in names or traces]
    return find([folders] if isinstance(folders, Path) else folders, chosen, traces.values())


def claimed(found: Found) -> dict[str, str]:
    """Map the path of each raw file below its raw folder to its table."""
    return {claim.raw.relative_name: f"{claim.trace.name}.{claim.table.name}" for claim in found.claims}


PUBLISHED = {
    "itp/data/raw-traces.tar.gz": "itp.raw_job",
    "itp/data/elasticflow-traces.tar.gz": "itp.elasticflow_job",
    "clusterdata/cluster-trace-gpu-v2023/csv/openb_node_list_all_node.csv": "openb.node",
    "clusterdata/cluster-trace-gpu-v2023/csv/openb_pod_list_default.csv": "openb.pod",
    "clusterdata/cluster-trace-gpu-v2020/data/pai_machine_spec.tar.gz": "pai.machine_spec",
    "zeus/trace/summary_train.csv": "zeus.train",
    "zeus/trace/summary_power_a40.csv": "zeus.power",
    "zeus/trace/alibaba_groups.csv.xz": "zeus.alibaba_group",
    "AcmeTrace/data/job_trace/trace_seren.csv": "acme.job_trace",
    "AcmeTrace/data/job_trace/trace_kalos.csv": "acme.job_trace",
    "AcmeTrace/data/cluster_summary.csv": "acme.cluster_summary",
}


def published_bytes(name: str) -> bytes:
    if name.endswith(".tar.gz"):
        return tar_gz(pai_machine_spec=MACHINES, cluster01=RAW_JOB)
    return lzma.compress(b"x\n") if name.endswith(".xz") else b"x\n"


@pytest.mark.parametrize("flat", [False, True], ids=["clones", "one folder of downloads"])
def test_recognises_publishers_files_by_name(flat: bool, tmp_path: Path) -> None:
    expected = {Path(name).name if flat else name: table for name, table in PUBLISHED.items()}
    write(tmp_path, {name: published_bytes(name) for name in expected})
    found = find_in(tmp_path)
    assert claimed(found) == expected
    assert not found.unrecognised
    assert not found.problems


@pytest.mark.parametrize(
    "name",
    ["pai_machine_spec.csv", "pai_machine_spec.csv.gz", "pai_machine_spec.csv.xz", "pai_machine_spec.tgz"],
)
def test_recognises_every_form(name: str, tmp_path: Path) -> None:
    data = {
        "csv": MACHINES,
        "gz": gzip.compress(MACHINES),
        "xz": lzma.compress(MACHINES),
        "tgz": tar_gz(pai_machine_spec=MACHINES),
    }
    write(tmp_path, {name: data[name.rpartition(".")[2]]})
    assert claimed(find_in(tmp_path)) == {name: "pai.machine_spec"}


def test_combines_parts_into_one_file(tmp_path: Path) -> None:
    data = tar_gz(pai_machine_spec=MACHINES)
    write(
        tmp_path,
        {
            "data/pai_machine_spec.tar.gz.partab": data[40:80],
            "data/pai_machine_spec.tar.gz.partaa": data[:40],
            "data/pai_machine_spec.tar.gz.partac": data[80:],
        },
    )
    (claim,) = find_in(tmp_path).claims
    assert [path.suffix for path in claim.raw.paths] == [".partaa", ".partab", ".partac"]
    assert claim.raw.relative_name == "data/pai_machine_spec.tar.gz"
    assert claim.raw.bytes == len(data)


@pytest.mark.parametrize("suffixes", [["partaa", "partab"], ["part1", "part2"], ["001", "002"]])
def test_finds_archive_and_its_parts(suffixes: list[str], tmp_path: Path) -> None:
    data = tar_gz(pai_machine_spec=MACHINES)
    parts = dict(zip(suffixes, (data[:40], data[40:]), strict=True))
    write(tmp_path, {f"pai_machine_spec.tar.gz.{suffix}": part for suffix, part in parts.items()})
    write(tmp_path, {"pai_machine_spec.tar.gz": data})
    found = find_in(tmp_path)
    assert not found.problems
    assert [[path.suffix for path in claim.raw.paths] for claim in found.claims] == [
        [".gz"],
        [f".{suffix}" for suffix in suffixes],
    ]


def test_archive_next_to_parts_of_another_size_is_a_problem(tmp_path: Path) -> None:
    data = tar_gz(pai_machine_spec=MACHINES)
    write(tmp_path, {"pai_machine_spec.tar.gz": data, "pai_machine_spec.tar.gz.partaa": data[:40]})
    found = find_in(tmp_path)
    (problem,) = found.problems
    whole, part = tmp_path / "pai_machine_spec.tar.gz", tmp_path / "pai_machine_spec.tar.gz.partaa"
    assert str(problem) == (
        f"{part}: this part differs from {whole} (40 and {len(data)} bytes). "
        "Move the parts, or the whole file, out of the raw folders"
    )
    assert not found.claims


PACKED = {
    "pai_machine_spec.CSV": MACHINES,
    "pai_machine_spec.csv.BZ2": bz2.compress(MACHINES),
    "pai_machine_spec.csv.zst": pa.compress(MACHINES, "zstd", asbytes=True),
    "pai_machine_spec.TAR": gzip.decompress(tar_gz(pai_machine_spec=MACHINES)),
    "pai_machine_spec.tar.bz2": bz2.compress(gzip.decompress(tar_gz(pai_machine_spec=MACHINES))),
    "pai_machine_spec.txz": lzma.compress(gzip.decompress(tar_gz(pai_machine_spec=MACHINES))),
    "pai_machine_spec.tar.zst": pa.compress(
        gzip.decompress(tar_gz(pai_machine_spec=MACHINES)), "zstd", asbytes=True
    ),
    "pai_machine_spec.zip": zipped({"data/pai_machine_spec.csv": MACHINES}),
    "whatever.zip": zipped({"data/pai_machine_spec.csv": MACHINES}),
    "whatever.tar": gzip.decompress(tar_gz(pai_machine_spec=MACHINES)),
}


@pytest.mark.parametrize("name", PACKED)
def test_recognises_packings_that_the_publisher_does_not_use(name: str, tmp_path: Path) -> None:
    write(tmp_path, {name: PACKED[name]})
    found = find_in(tmp_path)
    assert claimed(found) == {name: "pai.machine_spec"}
    assert not found.unrecognised


@pytest.mark.parametrize("missing", [0, 1])
def test_missing_part_is_a_problem(missing: int, tmp_path: Path) -> None:
    data = tar_gz(pai_machine_spec=MACHINES)
    suffixes = [suffix for number, suffix in enumerate(["aa", "ab", "ac"]) if number != missing]
    write(tmp_path, {f"pai_machine_spec.tar.gz.part{suffix}": data for suffix in suffixes})
    found = find_in(tmp_path)
    (problem,) = found.problems
    assert problem.file == str(tmp_path / f"pai_machine_spec.tar.gz.parta{'ab'[missing]}")
    assert not found.claims


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["csv", "csv.gz"])
def test_distinguishes_csvs_of_one_name_by_header(compress: type[bytes], tmp_path: Path) -> None:
    ending = ".csv" if compress is bytes else ".csv.gz"
    write(
        tmp_path,
        {
            f"raw-traces/cluster01{ending}": compress(b"\xef\xbb\xbf" + RAW_JOB.replace(b"\n", b"\r\n")),
            f"elasticflow-traces/cluster01{ending}": compress(ELASTICFLOW_JOB),
            f"elasticflow-traces/195job{ending}": compress(ELASTICFLOW_JOB),
        },
    )
    assert claimed(find_in(tmp_path)) == {
        f"raw-traces/cluster01{ending}": "itp.raw_job",
        f"elasticflow-traces/cluster01{ending}": "itp.elasticflow_job",
        f"elasticflow-traces/195job{ending}": "itp.elasticflow_job",
    }


@pytest.mark.parametrize("name", ["raw-traces (1).tar.gz", "download.tar.gz", "raw-traces-copy.tgz"])
def test_recognises_renamed_archive_by_content(name: str, tmp_path: Path) -> None:
    write(tmp_path, {name: tar_gz(cluster01=RAW_JOB, cluster02=RAW_JOB)})
    assert claimed(find_in(tmp_path)) == {name: "itp.raw_job"}
    write(tmp_path, {name: tar_gz(cluster01=ELASTICFLOW_JOB)})
    assert claimed(find_in(tmp_path)) == {name: "itp.elasticflow_job"}
    write(tmp_path, {name: tar_gz(pai_machine_spec=MACHINES)})
    assert claimed(find_in(tmp_path)) == {name: "pai.machine_spec"}


UNKNOWN = {
    "another name inside": tar_gz(mine=RAW_JOB),
    "another header inside": tar_gz(cluster01=NODE),
    "nothing inside": tar_gz(),
    "no tar": gzip.compress(b"x"),
    "pointer": LFS_POINTER,
    "page": PAGE,
    "empty": b"",
    "cut short": b"\x1f\x8b",
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_lists_archive_of_unknown_name_and_content(case: str, tmp_path: Path) -> None:
    write(tmp_path, {"mine.tar.gz": UNKNOWN[case]})
    found = find_in(tmp_path)
    assert found.unrecognised == ("mine.tar.gz",)
    assert not found.claims
    assert not found.problems


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
    assert not found.claims
    assert not found.problems


def test_ignores_files_of_other_traces(tmp_path: Path) -> None:
    write(
        tmp_path, {"summary_train.csv": b"x\n", "cluster01.csv": PAGE, "openb_node_list_all_node.csv": NODE}
    )
    found = find_in(tmp_path, "openb")
    assert claimed(found) == {"openb_node_list_all_node.csv": "openb.node"}
    assert not found.unrecognised
    assert not found.problems


def test_finds_each_file_of_several_folders_once(tmp_path: Path) -> None:
    write(tmp_path / "a", {"in/summary_train.csv": b"x\n"})
    write(tmp_path / "b", {"summary_power_a40.csv": b"x\n"})
    folders = [tmp_path / "a" / "in", tmp_path / "b", tmp_path / "a", tmp_path / "a"]
    assert claimed(find_in(folders)) == {
        "summary_train.csv": "zeus.train",
        "summary_power_a40.csv": "zeus.power",
    }


def test_follows_links_but_no_cycles(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", {"zeus/summary_train.csv": b"x\n", "summary_power_a40.csv": b"x\n"})
    raw = tmp_path / "raw"
    raw.mkdir()
    (raw / "folder").symlink_to(tmp_path / "elsewhere" / "zeus")
    (raw / "again").symlink_to(tmp_path / "elsewhere" / "zeus")
    (raw / "summary_power_a40.csv").symlink_to("../elsewhere/summary_power_a40.csv")
    (tmp_path / "elsewhere" / "zeus" / "circle").symlink_to(raw)
    found = find_in(raw)
    assert claimed(found) == {"summary_power_a40.csv": "zeus.power", "again/summary_train.csv": "zeus.train"}
    (tmp_path / "link").symlink_to(raw)
    assert len(find_in(tmp_path / "link").claims) == 2


AMBIGUOUS = {
    "empty": (b"", "the file is empty"),
    "only newlines": (b"\n\n", "the file is empty"),
    "pointer": (LFS_POINTER, "this is a Git LFS pointer"),
    "page": (PAGE, "this is a web page"),
    "another table": (
        NODE,
        "the header is sn,cpu_milli,memory_mib,gpu,model; expected job_id,submission_time,",
    ),
    "quote": (b'"never closed', "the header is never closed; expected"),
    "long": (b"x" * 200_000, "the header is xxxx"),
    "binary": (bytes(range(256)), "the header is"),
}


@pytest.mark.parametrize("case", AMBIGUOUS)
def test_bad_file_of_ambiguous_name_does_not_hide_others(case: str, tmp_path: Path) -> None:
    data, what = AMBIGUOUS[case]
    write(tmp_path, {"cluster01.csv": RAW_JOB, "cluster02.csv": data})
    found = find_in(tmp_path)
    (problem,) = found.problems
    assert problem.file == str(tmp_path / "cluster02.csv")
    assert problem.what.startswith(what)
    assert str(problem).isprintable()
    assert claimed(found) == {"cluster01.csv": "itp.raw_job"}


def test_each_bad_file_is_a_problem(tmp_path: Path) -> None:
    bad = {
        "summary_train.csv": PAGE,
        "summary_power_a40.csv": LFS_POINTER,
        "summary_power_v100.csv": LFS_POINTER,
    }
    write(tmp_path, bad | {"cluster_summary.csv": b"", "openb_node_list_all_node.csv": NODE})
    found = find_in(tmp_path)
    assert sorted(problem.file for problem in found.problems) == sorted(
        str(tmp_path / name) for name in [*bad, "cluster_summary.csv"]
    )
    assert claimed(found) == {"openb_node_list_all_node.csv": "openb.node"}


def test_broken_link_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "summary_train.csv").symlink_to(tmp_path / "gone")
    (tmp_path / "summary_power_a40.csv").symlink_to("summary_power_a40.csv")
    (tmp_path / "not_ours.csv").symlink_to(tmp_path / "gone")
    problems = sorted(str(problem) for problem in find_in(tmp_path).problems)
    assert [problem.partition(" (")[0] for problem in problems] == [
        f"{tmp_path / 'summary_power_a40.csv'}: it cannot be read",
        f"{tmp_path / 'summary_train.csv'}: it cannot be read",
    ]


def test_opens_only_regular_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Opening a pipe blocks, so the test would time out.
    for name in ("summary_train.csv", "mine.csv", "mine.tar.gz", "mine", "pai_machine_spec.header"):
        os.mkfifo(tmp_path / name)
    os.mkfifo(tmp_path / "SYNTHETIC.txt")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("summary_power_a40.csv")
        (tmp_path / "cluster_summary.csv").symlink_to("/dev/zero")
        found = find_in(tmp_path)
    assert [str(problem).partition(". ")[0] for problem in found.problems] == [
        f"{tmp_path / 'cluster_summary.csv'}: it is a device, not a file",
        f"{tmp_path / 'summary_power_a40.csv'}: it is a socket, not a file",
        f"{tmp_path / 'summary_train.csv'}: it is a named pipe, not a file",
    ]
    assert found.unrecognised == ("mine", "mine.csv", "mine.tar.gz")


def test_escapes_names_that_are_not_utf8(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/caf\xe9\x1b[2J"
    os.mkdir(folder)  # noqa: PTH102
    for name in (b"summary_train.csv", b"summary_power_\xff.csv", b"\xff.tar.gz"):
        with open(folder + b"/" + name, "wb") as file:  # noqa: PTH123
            file.write(tar_gz(pai_machine_spec=MACHINES) if name.endswith(b"gz") else b"x\n")
    found = find_in(tmp_path)
    shown = "caf\\xe9\\x1b[2J"
    assert claimed(found) == {
        f"{shown}/summary_train.csv": "zeus.train",
        f"{shown}/\\xff.tar.gz": "pai.machine_spec",
    }
    assert found.unrecognised == (f"{shown}/summary_power_\\xff.csv",)
    with open(folder + b"/summary_train.csv", "wb"):  # noqa: PTH123
        pass
    (problem,) = find_in(tmp_path).problems
    assert str(problem).startswith(f"{tmp_path}/{shown}/summary_train.csv: the file is empty")


def test_unreadable_file_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, {"summary_train.csv": b"x\n", "locked/summary_power_a40.csv": b"x\n"})
    (tmp_path / "summary_train.csv").chmod(0)
    (tmp_path / "locked").chmod(0)
    if os.access(tmp_path / "summary_train.csv", os.R_OK):
        pytest.skip("root may read everything")
    try:
        problems = find_in(tmp_path).problems
    finally:
        (tmp_path / "locked").chmod(0o700)
    assert [problem.file for problem in problems] == [
        str(tmp_path / "locked"),
        str(tmp_path / "summary_train.csv"),
    ]
    assert all("cannot be read (Permission denied)" in str(problem) for problem in problems)


def test_uses_header_file_in_folder_of_the_data(tmp_path: Path) -> None:
    write(tmp_path / "a", {"pai_machine_spec.csv": MACHINES, "pai_machine_spec.header": b"same folder"})
    write(tmp_path / "b", {"pai_machine_spec.header": b"another"})
    write(tmp_path / "c", {"pai_machine_spec.tar.gz": tar_gz(pai_machine_spec=MACHINES)})
    folders = [tmp_path / "b", tmp_path / "a", tmp_path / "c"]
    headers = {claim.raw.form: claim.header_file for claim in find_in(folders).claims}
    assert headers == {
        "csv": tmp_path / "a" / "pai_machine_spec.header",
        "tar.gz": tmp_path / "b" / "pai_machine_spec.header",
    }
    assert find_in(tmp_path / "c").claims[0].header_file is None


def test_error_has_file_and_line() -> None:
    assert str(RawFileError("x.csv", "it is odd", "Look at it")) == "x.csv: it is odd. Look at it"
    assert str(RawFileError("x.csv", "it is odd", "Look", line=1234)) == "x.csv, line 1,234: it is odd. Look"


def test_unexpected_error_refuses_the_file_and_finds_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"openb_node_list_all_node.csv": NODE, "cluster01.csv": RAW_JOB})
    before = claims.reader_of

    def fail(table: Table, name: str) -> Reader:
        return 1 // 0 if name == "cluster01.csv" else before(table, name)

    monkeypatch.setattr(claims, "reader_of", fail)
    found = find_in(tmp_path)
    [problem] = found.problems
    assert problem.file == str(tmp_path / "cluster01.csv")
    assert "reading it failed unexpectedly (ZeroDivisionError" in str(problem)
    assert claimed(found) == {"openb_node_list_all_node.csv": "openb.node"}
