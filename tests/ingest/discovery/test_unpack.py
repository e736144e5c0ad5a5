import bz2
import gzip
import hashlib
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from counting import non_empty
from few_files import zipped
from hypothesis import given, settings
from hypothesis import strategies as st
from random_seed import DEPTH

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import escape_name
from tracehouse.ingest.discovery.packing import all_forms, form_of
from tracehouse.ingest.discovery.raw_stream import explained, open_raw, sha256_of
from tracehouse.ingest.discovery.unpack import data_members
from tracehouse.ingest.readers import all_readers

CSV = b"".join(b"%d,%d\n" % (number, number * 7919 % 1000) for number in range(2000))
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"


def tar_of(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        add(archive, members)
    return packed.getvalue()


def add(archive: tarfile.TarFile, members: dict[str, bytes]) -> None:
    for name, data in members.items():
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))


def contents(paths: Sequence[Path], form: str) -> dict[str, bytes]:
    """Return the members of a raw file, reading it to its end as ingest does."""
    with open_raw(paths) as raw, explained(paths):
        found = {member.name: member.stream.read() for member in data_members(raw, form, "x.csv", "folder")}
        assert raw.sha256_of_rest() == hashlib.sha256(b"".join(p.read_bytes() for p in paths)).hexdigest()
    return found


def refusal(paths: Sequence[Path], form: str) -> RawFileError:
    with pytest.raises(RawFileError) as refused:
        contents(paths, form)
    assert "\n" not in str(refused.value)
    return refused.value


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def cut(folder: Path, name: str, data: bytes, count: int) -> list[Path]:
    """Split a file into parts with the names that the command `split` uses."""
    size = -(-len(data) // count)
    suffixes = [chr(ord("a") + number // 26) + chr(ord("a") + number % 26) for number in range(count)]
    return [
        write(folder, f"{name}.part{suffix}", data[number * size : (number + 1) * size])
        for number, suffix in enumerate(suffixes)
    ]


def zstd(data: bytes) -> bytes:
    return pa.compress(data, "zstd", asbytes=True)


def xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=0)


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "csv": bytes,
    "csv.gz": gzip.compress,
    "csv.bz2": bz2.compress,
    "csv.xz": xz,
    "csv.zst": zstd,
    "tar": lambda data: tar_of({"x.csv": data}),
    "tar.gz": lambda data: gzip.compress(tar_of({"x.csv": data})),
    "tar.bz2": lambda data: bz2.compress(tar_of({"x.csv": data})),
    "tar.xz": lambda data: xz(tar_of({"x.csv": data})),
    "tar.zst": lambda data: zstd(tar_of({"x.csv": data})),
    "zip": lambda data: zipped({"x.csv": data}),
}
COMPRESSED = [form for form in FORMS if form not in ("csv", "tar")]


def test_tests_cover_every_form() -> None:
    others = {name for reader in all_readers() for name in reader.extensions[:1]} - {"csv"}
    assert set(FORMS) == {form for form in all_forms().values() if form.partition(".")[0] not in others}


@pytest.mark.parametrize("compression", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_json_lines_have_the_packings_of_csvs(compression: str, tmp_path: Path) -> None:
    form = form_of(f"x.ndjson{compression}")
    assert form == form_of(f"x.jsonl{compression}") == f"jsonl{compression}"
    path = write(tmp_path, f"x.{form}", FORMS[f"csv{compression}"](CSV))
    assert contents([path], form) == {"x.csv": CSV}
    members = {"d/a.JSONL": CSV, "b.ndjson": CSV, "c.jsonl.gz": CSV, "e.json": CSV}
    archive = write(tmp_path, "x.tar", tar_of(members))
    assert contents([archive], "tar") == {"a.jsonl": CSV, "b.jsonl": CSV}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_yields_the_csv(form: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"x.{form}", FORMS[form](CSV))
    assert contents([path], form) == {"x.csv": CSV}
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("parts", [1, 2, 3, 30])
@pytest.mark.parametrize("form", [form for form in FORMS if form != "zip"])
def test_joins_parts_in_order(form: str, parts: int, tmp_path: Path) -> None:
    data = FORMS[form](CSV)
    paths = cut(tmp_path, f"x.{form}", data, parts)
    assert contents(paths, form) == {"x.csv": CSV}
    assert sha256_of(paths) == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("first", [b"<", b" <", b"\n<", b"version", b"\x1f\x8b"])
def test_later_part_may_begin_with_any_bytes(first: bytes, tmp_path: Path) -> None:
    # Without compression, so that the archive contains these bytes unchanged.
    data = gzip.compress(tar_of({"x.csv": b"a" * 1000 + first + CSV}), 0)
    start = data.index(first, 1000)
    paths = [
        write(tmp_path, "x.tar.gz.partaa", data[:start]),
        write(tmp_path, "x.tar.gz.partab", data[start:]),
    ]
    assert contents(paths, "tar.gz") == {"x.csv": b"a" * 1000 + first + CSV}


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_yields_only_its_csvs(tar_format: int, tmp_path: Path) -> None:
    members = {
        "data/._a.csv": b"\0\5\x16\7resource fork",
        "data/a.csv": CSV,
        "data/LICENSE": b"MIT",
        "data/empty.csv": b"",
        "data/a.csv.bak": b"old",
        "data/" + "long" * 20 + "/" + "name" * 20 + ".csv": b"x" * 512,
        "b.csv": CSV[:1000],
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tar_format) as archive:
        folder = tarfile.TarInfo("data/folder.csv")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        link = tarfile.TarInfo("data/link.csv")
        link.type = tarfile.SYMTYPE
        link.linkname = "a.csv"
        archive.addfile(link)
        add(archive, members)
    path = write(tmp_path, "x.tar.gz", gzip.compress(packed.getvalue()))
    assert contents([path], "tar.gz") == {
        "a.csv": CSV,
        "empty.csv": b"",
        "name" * 20 + ".csv": b"x" * 512,
        "b.csv": CSV[:1000],
    }
    assert list(tmp_path.iterdir()) == [path]


def test_skips_members_that_are_not_read(tmp_path: Path) -> None:
    path = write(
        tmp_path, "x.tar.gz", gzip.compress(tar_of({"a.csv": CSV, "b.csv": CSV[:100], "c.csv": CSV}))
    )
    with open_raw([path]) as raw:
        read = [
            member.stream.read()
            for member in data_members(raw, "tar.gz", "", "folder")
            if member.name != "a.csv"
        ]
    assert read == [CSV[:100], CSV]


STREAMS = ["csv.gz", "csv.bz2", "csv.xz", "csv.zst"]


@pytest.mark.parametrize("form", STREAMS)
def test_joins_concatenated_compressed_streams(form: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"x.{form}", FORMS[form](CSV[:5000]) + FORMS[form](CSV[5000:]))
    assert contents([path], form) == {"x.csv": CSV}


@pytest.mark.parametrize("form", STREAMS)
def test_rejects_damaged_second_stream(form: str, tmp_path: Path) -> None:
    first, second = FORMS[form](CSV[:5000]), FORMS[form](CSV[5000:])
    for damaged in (b"X" + second[1:], second[:3], second[:-3], b"garbage"):
        path = write(tmp_path, f"x.{form}", first + damaged)
        assert str(refusal([path], form)).startswith(f"{path}: the file is cut short or damaged (")


@pytest.mark.parametrize("form", ["csv.gz", "csv.bz2", "csv.xz"])
def test_accepts_zero_padding(form: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"x.{form}", FORMS[form](CSV) + bytes(3 << 20))
    assert contents([path], form) == {"x.csv": CSV}


def test_counts_and_hashes_bytes_on_disk(tmp_path: Path) -> None:
    paths = cut(tmp_path, "x.tar.gz", gzip.compress(tar_of({"a.csv": CSV})), 3)
    counted: list[int] = []
    with open_raw(paths, counted.append) as raw:
        first = next(data_members(raw, "tar.gz", "x.csv", "folder"))
        assert first.name == "a.csv"
    with open_raw(paths, counted.append) as raw:
        counted.clear()
        sha256 = raw.sha256_of_rest()
    assert sum(counted) == sum(path.stat().st_size for path in paths)
    assert sha256 == sha256_of(paths)


@pytest.mark.parametrize("form", FORMS)
def test_hashes_rest_of_file_when_reader_stops_early(form: str, tmp_path: Path) -> None:
    data = FORMS[form](os.urandom(2 << 20))
    path = write(tmp_path, f"x.{form}", data)
    with open_raw([path]) as raw:
        members = data_members(raw, form, "x.csv", "folder")
        assert next(members).stream.read(10)
        members.close()
        assert raw.sha256_of_rest() == hashlib.sha256(data).hexdigest()


def test_rejects_empty_file(tmp_path: Path) -> None:
    for form in FORMS:
        path = write(tmp_path, f"x.{form}", b"")
        assert str(refusal([path], form)).startswith(f"{path}: the file is empty. Fetch it again")


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz", "x.csv.xz", "x.tar.gz", "it's x.csv"])
def test_rejects_lfs_pointer_with_command_that_fetches_it(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, LFS_POINTER)
    quoted = name if "'" not in name else "'it'\"'\"'s x.csv'"
    error = refusal([path], name.split(".", 1)[1])
    assert error.file == str(path)
    assert str(error).endswith(
        f"this is a Git LFS pointer, not the data. Fetch the real file: git -C {tmp_path} lfs pull "
        f"--include {quoted}"
    )


@pytest.mark.parametrize("pointer", [0, 1, 2])
def test_names_lfs_pointer_among_parts(pointer: int, tmp_path: Path) -> None:
    paths = cut(tmp_path, "x.tar.gz", gzip.compress(tar_of({"x.csv": CSV})), 3)
    paths[pointer].write_bytes(LFS_POINTER)
    error = refusal(paths, "tar.gz")
    assert error.file == str(paths[pointer])
    assert f"lfs pull --include {paths[pointer].name}" in error.do


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "page",
    [
        b"<!DOCTYPE html><html><body>404</body></html>",
        b"\n\n  <html>\n<head><title>Sign in</title>",
        b"\xef\xbb\xbf<HTML>",
        b"<?xml version='1.0'?>\n<Error><Code>AccessDenied</Code></Error>",
        b"<Error><Code>NoSuchKey</Code></Error>",
        b"<!-- moved --><html>",
    ],
)
def test_rejects_web_page(page: bytes, form: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"x.{form}", page)
    assert str(refusal([path], form)).startswith(
        f"{path}: this is a web page (an error message, most likely)"
    )


@pytest.mark.parametrize("form", COMPRESSED)
@pytest.mark.parametrize(
    "data", [CSV, b"404: Not Found", b"PK\7\x08zip", b"\x1f"], ids=["csv", "text", "span", "1"]
)
def test_rejects_file_that_is_not_compressed(data: bytes, form: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"x.{form}", data)
    assert str(refusal([path], form)).startswith(f"{path}: the content is not what the name says")


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_names_missing_part(missing: int, tmp_path: Path) -> None:
    paths = cut(tmp_path, "x.tar.gz", gzip.compress(tar_of({"x.csv": CSV})), 4)
    lost = paths.pop(missing)
    lost.unlink()
    error = refusal(paths, "tar.gz")
    assert error.file == str(lost)
    assert "this part of the archive is missing" in error.what
    assert f"Fetch {lost.name} into the folder" in error.do


@pytest.mark.parametrize("form", ["csv.gz", "tar.gz"])
@pytest.mark.parametrize("kept", [1, 2, 3])
def test_suspects_missing_last_parts_if_archive_ends_early(kept: int, form: str, tmp_path: Path) -> None:
    paths = cut(tmp_path, f"x.{form}", FORMS[form](CSV), 4)[:kept]
    error = refusal(paths, form)
    assert error.file == str(paths[-1])
    assert "cut short" in error.what


@pytest.mark.parametrize("form", COMPRESSED)
@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.999])
def test_rejects_truncated_file(share: float, form: str, tmp_path: Path) -> None:
    data = FORMS[form](CSV)
    path = write(tmp_path, f"x.{form}", data[: max(8, int(len(data) * share))])
    assert str(refusal([path], form)).startswith(f"{path}: the file is cut short or damaged (")


@pytest.mark.parametrize("data", [b"", b"no tar at all", b"x" * 2000], ids=["nothing", "text", "long text"])
def test_rejects_gzip_without_tar(data: bytes, tmp_path: Path) -> None:
    path = write(tmp_path, "x.tar.gz", gzip.compress(data))
    assert str(refusal([path], "tar.gz")).startswith(f"{path}: the file is cut short or damaged (")


def test_rejects_tar_with_damaged_header(tmp_path: Path) -> None:
    tar = bytearray(tar_of({"a.csv": CSV, "b.csv": CSV, "c.csv": CSV}))
    second = 512 + len(CSV) + -len(CSV) % 512
    tar[second + 150] ^= 0xFF
    path = write(tmp_path, "x.tar.gz", gzip.compress(bytes(tar)))
    assert "(a header is damaged)" in refusal([path], "tar.gz").what


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, b"?"])
def test_reports_links_and_special_files_named_csv_in_tar(kind: bytes, tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        add(archive, {"a.csv": CSV})
        for name in ("b.csv", "c.txt"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = kind, "a.csv"
            archive.addfile(link)
        add(archive, {"d.csv": CSV[:9]})
    path = write(tmp_path, "x.tar", packed.getvalue())
    reported: list[str] = []
    with open_raw([path]) as raw:
        found = {
            member.name: member.stream.read() for member in data_members(raw, "tar", "", "", reported.append)
        }
    assert found == {"a.csv": CSV, "d.csv": CSV[:9]}
    is_link = kind in (tarfile.SYMTYPE, tarfile.LNKTYPE)
    assert reported == [f"b.csv, which is {'a link' if is_link else 'not a file'}"]


@pytest.mark.parametrize(("form", "pack"), [("tar", tar_of), ("zip", zipped)])
def test_reports_packed_files_inside_archive(
    form: str, pack: Callable[[dict[str, bytes]], bytes], tmp_path: Path
) -> None:
    names = ["a.csv", "b.csv.gz", "c/d.tar", "e.csv.part1", "LICENSE", "._f.zip", "data.gz"]
    path = write(tmp_path, f"x.{form}", pack(dict.fromkeys(names, b"x")))
    reported: list[str] = []
    with open_raw([path]) as raw:
        found = [member.name for member in data_members(raw, form, "", "", reported.append)]
    assert found == ["a.csv"]
    assert reported == [
        f"{name}, which is an archive or compressed inside the archive"
        for name in ("b.csv.gz", "d.tar", "e.csv.part1")
    ]


def test_accepts_any_member_name_in_tar(tmp_path: Path) -> None:
    names = ["../../a.csv", "/etc/b.csv", "./c.CSV", "d\x1b[2J.csv", "e\udcff.csv", "f\n.csv"]
    path = write(tmp_path, "x.tar", tar_of({name: name.encode("utf-8", "replace") for name in names}))
    found = contents([path], "tar")
    assert list(found) == ["a.csv", "b.csv", "c.csv", "d\\x1b[2J.csv", "e\\xff.csv", "f\\n.csv"]
    assert list(tmp_path.iterdir()) == [path]


def with_checksum(header: bytes) -> bytes:
    spaces = header[:148] + b" " * 8 + header[156:]
    return header[:148] + b"%06o\0 " % sum(spaces) + header[156:]


def header(name: str, size_field: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return a tar header with any size field and a valid checksum."""
    block = bytearray(tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT))
    block[124:136] = size_field.ljust(12, b"\0")
    block[156:157] = kind
    return with_checksum(bytes(block))


MINUS_1000 = b"\xff" * 10 + b"\xfc\x18"
HUGE = b"\x80" + b"\0" * 2 + b"\x7f" * 9
BAD_TARS = {
    "negative size": header("b.csv", MINUS_1000),
    "negative size of no CSV": header("LICENSE", MINUS_1000),
    "negative octal size": header("b.csv", b"-7"),
    "huge size": header("b.csv", HUGE),
    "huge size of no CSV": header("LICENSE", HUGE),
    "huge long name": header("././@LongLink", HUGE, tarfile.GNUTYPE_LONGNAME),
    "negative long name": header("././@LongLink", MINUS_1000, tarfile.GNUTYPE_LONGNAME),
    "huge attributes": header("x", HUGE, tarfile.XHDTYPE),
    "attributes of no length": header("x", b"11", tarfile.XHDTYPE) + b"0 size=-5\n".ljust(512, b"\0"),
    "attributes of no number": header("x", b"100", tarfile.XHDTYPE)
    + b"25 GNU.sparse.map=a,b,c\n".ljust(512, b"\0")
    + header("b.csv", b"0"),
    "negative size in attributes": header("x", b"12", tarfile.XHDTYPE)
    + b"11 size=-5\n".ljust(512, b"\0")
    + header("b.csv", b"0"),
    "a name before nothing": header("././@LongLink", b"1", tarfile.GNUTYPE_LONGNAME) + b"x".ljust(512, b"\0"),
    "names without end": (header("././@LongLink", b"1", tarfile.GNUTYPE_LONGNAME) + b"x".ljust(512, b"\0"))
    * 2000,
    "sparse without end": header("b.csv", b"0", tarfile.GNUTYPE_SPARSE)[:482] + b"\1" + bytes(29),
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("case", BAD_TARS)
def test_rejects_tar_with_impossible_header(case: str, first: bool, tmp_path: Path) -> None:
    before = b"" if first else tar_of({"a.csv": CSV})[: 512 + len(CSV) + -len(CSV) % 512]
    tar = before + BAD_TARS[case] + tar_of({"c.csv": CSV}) * (case != "a name before nothing")
    path = write(tmp_path, "x.tar.gz", gzip.compress(tar))
    assert str(refusal([path], "tar.gz")).startswith(f"{path}: the file is cut short or damaged (")


def test_rejects_sparse_file_in_tar(tmp_path: Path) -> None:
    tar = with_checksum(header("b.csv", b"0", tarfile.GNUTYPE_SPARSE)) + bytes(1024)
    path = write(tmp_path, "x.tar", tar)
    assert "cannot be read as it is packed (b.csv is stored as a sparse file). Unpack" in str(
        refusal([path], "tar")
    )


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_zip_yields_only_its_csvs(method: int, tmp_path: Path) -> None:
    members = {
        "data/": b"",
        "data/a.csv": CSV,
        "data/LICENSE": b"MIT",
        "b.CSV": b"x",
        "__MACOSX/._a.csv": b".",
    }
    path = write(tmp_path, "x.zip", zipped(members, method))
    assert contents([path], "zip") == {"a.csv": CSV, "b.csv": b"x"}
    assert list(tmp_path.iterdir()) == [path]
    path = write(tmp_path, "x.zip", zipped({}))
    assert contents([path], "zip") == {}


def test_rejects_zip_that_python_cannot_unpack(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.csv": CSV}))
    entry = data.index(b"PK\1\2")
    unknown = bytes(data[: entry + 10]) + b"\x63\0" + bytes(data[entry + 12 :])
    assert "cannot be read as it is packed (a.csv in it uses" in str(
        refusal([write(tmp_path, "x.zip", unknown)], "zip")
    )
    encrypted = bytes(data[: entry + 8]) + b"\x01\0" + bytes(data[entry + 10 :])
    assert "cannot be read as it is packed (a.csv in it is encrypted). Unpack" in str(
        refusal([write(tmp_path, "x.zip", encrypted)], "zip")
    )
    newer = bytes(data[: entry + 6]) + b"\x94\0" + bytes(data[entry + 8 :])
    assert "(a header in it uses an unsupported feature: zip file version 14.8)" in str(
        refusal([write(tmp_path, "x.zip", newer)], "zip")
    )
    parts = cut(tmp_path, "x.zip", bytes(data), 2)
    assert "cannot be read as it is packed (it is a zip in parts). Unpack" in str(refusal(parts, "zip"))


def test_rejects_zip_whose_directory_hides_a_file(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.csv": CSV, "b.csv": CSV}))
    # The comment of the first entry now extends over the second entry.
    entry = data.index(b"PK\1\2")
    data[entry + 33] = 0x40
    with zipfile.ZipFile(io.BytesIO(data)) as seen:
        assert seen.namelist() == ["a.csv"]
    path = write(tmp_path, "x.zip", bytes(data))
    assert "does not list all files" in refusal([path], "zip").what


@pytest.mark.parametrize(
    "suffixes", [["part0", "part1"], ["part1", "part2"], ["part01", "part02"], ["001", "002"]]
)
def test_accepts_numbered_parts(suffixes: list[str], tmp_path: Path) -> None:
    data = gzip.compress(tar_of({"x.csv": CSV}))
    halves = (data[:1000], data[1000:])
    paths = [write(tmp_path, f"x.tar.gz.{s}", half) for s, half in zip(suffixes, halves, strict=True)]
    assert contents(paths, "tar.gz") == {"x.csv": CSV}


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (["part2"], "part1"),
        (["part02", "part03"], "part01"),
        (["part1", "part3"], "part2"),
        (["part09", "part11"], "part01"),
        (["part00", "part02"], "part01"),
        (["001", "003"], "002"),
        (["partaa", "partac"], "partab"),
        (["partaaa", "partaac"], "partaab"),
    ],
)
def test_names_missing_numbered_part(names: list[str], missing: str, tmp_path: Path) -> None:
    paths = [write(tmp_path, f"x.tar.gz.{name}", gzip.compress(CSV)) for name in names]
    error = refusal(paths, "tar.gz")
    assert error.file == str(tmp_path / f"x.tar.gz.{missing}")
    assert error.what == "this part of the archive is missing"


def test_rejects_repeated_part(tmp_path: Path) -> None:
    paths = [write(tmp_path, f"x.csv.{name}", CSV) for name in ("part1", "part01", "part2")]
    assert "are the same part of x.csv" in refusal(paths, "csv").what


def test_does_not_open_pipe(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    os.mkfifo(path)
    assert str(refusal([path], "csv")).startswith(f"{path}: it is a named pipe, not a file. Move it out")
    device = tmp_path / "y.csv"
    device.symlink_to("/dev/zero")
    assert "it is a device, not a file" in refusal([device], "csv").what


@pytest.mark.parametrize("form", ["csv", "csv.zst", "tar.gz", "zip"])
def test_rejects_file_that_changes_while_read(form: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"x.{form}", FORMS[form](os.urandom(2 << 20)))
    with (
        pytest.raises(RawFileError, match=r"it changed while it was read\. Wait until"),
        open_raw([path]) as raw,
        explained([path]),
    ):
        for member in data_members(raw, form, "x.csv", "folder"):
            member.stream.read(10)
            os.utime(path, (0, 0))
        raw.sha256_of_rest()


@pytest.mark.parametrize("form", ["tar.gz", "csv.zst", "csv.xz"])
def test_names_part_that_vanishes_while_another_is_read(form: str, tmp_path: Path) -> None:
    paths = cut(tmp_path, f"x.{form}", FORMS[form](os.urandom(3 << 20)), 2)
    with (
        pytest.raises(RawFileError) as refused,
        open_raw(paths, lambda _: paths[1].unlink(missing_ok=True)) as raw,
        explained(paths),
    ):
        for member in data_members(raw, form, "x.csv", "folder"):
            member.stream.read()
    assert str(refused.value).startswith(f"{paths[1]}: it cannot be read (No such file or directory)")


@pytest.mark.parametrize("form", ["tar", "tar.gz"])
def test_rejects_tar_without_end_mark(form: str, tmp_path: Path) -> None:
    whole = tar_of({"a.csv": CSV, "b.csv": CSV})
    first = 512 + len(CSV) + -len(CSV) % 512
    pack = gzip.compress if form == "tar.gz" else bytes
    for ends in (first, first + 100, 2 * first, 2 * first + 511):
        path = write(tmp_path, f"x.{form}", pack(whole[:ends]))
        assert "(the archive ends without its end mark)" in refusal([path], form).what
    # The first of the two blocks of zeros follows the last file, so the archive is complete.
    path = write(tmp_path, f"x.{form}", pack(whole[: 2 * first + 512]))
    assert contents([path], form) == {"a.csv": CSV, "b.csv": CSV}
    path = write(tmp_path, f"x.{form}", pack(whole[:first] + bytes(512) + whole[first:]))
    assert "more data after the end of the archive" in refusal([path], form).what


def test_rejects_concatenated_tars(tmp_path: Path) -> None:
    path = write(
        tmp_path, "x.tar.gz", gzip.compress(tar_of({"a.csv": CSV})) + gzip.compress(tar_of({"b.csv": CSV}))
    )
    assert "more data after the end of the archive" in refusal([path], "tar.gz").what


@pytest.mark.parametrize("form", FORMS)
def test_rejects_broken_link(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{form}"
    path.symlink_to(tmp_path / "gone")
    assert str(refusal([path], form)).startswith(f"{path}: it cannot be read (No such file or directory)")


def test_rejects_file_without_permission(tmp_path: Path) -> None:
    path = write(tmp_path, "x.csv", CSV)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root may read everything")
    assert str(refusal([path], "csv")).startswith(f"{path}: it cannot be read (Permission denied)")


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file whose reading fails")
def test_names_file_on_read_error_of_disk(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.symlink_to("/proc/self/mem")
    assert str(refusal([path], "csv")).startswith(f"{path}: it cannot be read (Input/output error)")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


# zstd is left out: pyarrow writes no checksum, so a flipped bit cannot be detected.
@settings(max_examples=200 * DEPTH)
@given(
    form=st.sampled_from([form for form in COMPRESSED if not form.endswith("zst")]),
    ends=st.floats(0, 1),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4),
    tail=st.binary(max_size=20),
)
def test_damage_is_an_error_or_changes_no_data(
    scratch: Path, form: str, ends: float, flips: list[tuple[float, int]], tail: bytes
) -> None:
    data = bytearray(FORMS[form](CSV))
    for place, byte in flips:
        data[int(place * len(data))] = byte
    path = write(scratch, f"x.{form}", bytes(data[: int(ends * len(data))]) + tail)
    try:
        found = contents([path], form)
    except RawFileError as error:
        assert str(path) in str(error)
    else:
        assert found == {"x.csv": CSV}


TAR_FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
LONG_NAME = "long/" * 30 + "c.csv"


def tar_in(tar_format: int) -> tuple[bytes, list[int], dict[str, bytes]]:
    """Return a tar, the positions of its header blocks, and its CSVs by name."""
    members = {"a.csv": CSV[:700], "LICENSE": b"MIT", LONG_NAME: CSV[:512], "d.csv": b"", "e.csv": CSV[:20]}
    if tar_format == tarfile.USTAR_FORMAT:
        members["c.csv"] = members.pop(LONG_NAME)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tar_format) as archive:
        add(archive, members)
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        blocks = sorted(
            {block for info in archive for block in range(info.offset, info.offset_data, tarfile.BLOCKSIZE)}
        )
    csvs = {name.rpartition("/")[2]: data for name, data in members.items() if name.endswith(".csv")}
    return packed.getvalue(), blocks, csvs


def read_by_tarfile(tar: bytes) -> dict[str, bytes]:
    """Return the CSVs that Python's tarfile reads from a tar."""
    found = {}
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
        for info in archive:
            name = info.name.rpartition("/")[2]
            content = archive.extractfile(info) if info.isreg() else None
            if content and name.lower().endswith(".csv") and not name.startswith("._"):
                found[escape_name(name[:-4]) + ".csv"] = content.read()
    return found


@pytest.mark.parametrize("tar_format", TAR_FORMATS)
def test_damaged_byte_of_tar_header_is_an_error_or_changes_no_data(tar_format: int, tmp_path: Path) -> None:
    tar, blocks, csvs = tar_in(tar_format)
    names = [block for block in blocks if tar[block + 257 : block + 262] == b"ustar"]
    for place in non_empty(block + within for block in names for within in range(0, 500, 7)):
        damaged = bytearray(tar)
        damaged[place] ^= 1 << place % 8
        path = write(tmp_path, "x.tar.gz", gzip.compress(bytes(damaged), 1))
        try:
            found = contents([path], "tar.gz")
        except RawFileError as error:
            assert str(path) in str(error)
        else:
            assert found == csvs, place


@settings(max_examples=200 * DEPTH)
@given(
    tar_format=st.sampled_from(TAR_FORMATS),
    which=st.integers(0, 20),
    changes=st.lists(
        st.tuples(
            # Position and length of name, size, type, the prefix or sparse map, and of the whole header.
            st.sampled_from([(0, 100), (124, 12), (124, 12), (156, 1), (156, 1), (345, 155), (0, 512)]),
            st.floats(0, 1, exclude_max=True),
            st.one_of(
                st.binary(min_size=1, max_size=12),
                st.sampled_from(
                    [b"\xff" * 12, b"\x80" + b"\xff" * 11, b"-7", b"0", b"777777", b"S", b"x", b"L"]
                ),
            ),
        ),
        max_size=3,
    ),
)
def test_rejects_tar_or_reads_it_as_tarfile_does(
    scratch: Path, tar_format: int, which: int, changes: list[tuple[tuple[int, int], float, bytes]]
) -> None:
    tar, blocks, _ = tar_in(tar_format)
    start = blocks[which % len(blocks)]
    header = bytearray(tar[start : start + 512])
    for (field, length), at, new in changes:
        place = field + int(at * length)
        header[place : place + len(new)] = new
    damaged = tar[:start] + with_checksum(bytes(header[:512])) + tar[start + 512 :]
    path = write(scratch, "x.tar.gz", gzip.compress(damaged, 1))
    try:
        found = contents([path], "tar.gz")
    except RawFileError as error:
        assert str(path) in str(error)
    else:
        assert found == read_by_tarfile(damaged)
