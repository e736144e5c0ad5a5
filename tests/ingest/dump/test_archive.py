"""Reading raw files and archives in every packing of the publishers, and noticing damage."""

import gzip
import hashlib
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from few_files import zipped

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.dump.open import open_dump, sha256_of
from tracehouse.ingest.dump.raw_files import RawFile, form_of, part_name, whole_name

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


def raw_file(*paths: Path) -> RawFile:
    form = form_of(whole_name(paths[0].name))
    assert form
    return RawFile(paths, form, paths[0].parent, 0)


def contents(paths: Sequence[Path], on_skipped: Callable[[str], None] = lambda _: None) -> dict[str, bytes]:
    """Return the members of a raw file, reading it to its end as ingest does."""
    with open_dump(raw_file(*paths)) as dump:
        members = dump.members(on_skipped=on_skipped)
        found = {member.name: member.stream.read() for member in members}
        assert dump.stream.sha256_of_rest() == sha256_of(paths)
    return found


def refusal(*paths: Path) -> str:
    """Return the error about a raw file, which names its last path."""
    with pytest.raises(RawFileError) as refused:
        contents(paths)
    assert "\n" not in str(refused.value)
    assert refused.value.file == str(paths[-1])
    return str(refused.value).removeprefix(f"{paths[-1]}: ")


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def cut(folder: Path, name: str, data: bytes, count: int) -> list[Path]:
    """Split a file into parts with the names that the command `split` uses."""
    size = -(-len(data) // count)
    return [
        write(folder, part_name(name, number), data[number * size : (number + 1) * size])
        for number in range(count)
    ]


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "csv": bytes,
    "csv.gz": gzip.compress,
    "csv.xz": lambda data: lzma.compress(data, preset=0),
    "tar": lambda data: tar_of({"x.csv": data}),
    "tar.gz": lambda data: gzip.compress(tar_of({"x.csv": data})),
}
COMPRESSED = ["csv.gz", "csv.xz", "tar.gz"]


def test_every_form_yields_the_csv_whole_or_in_parts(tmp_path: Path) -> None:
    for form, pack in FORMS.items():
        data = pack(CSV)
        for parts in (1, 2, 3, 30):
            name = f"x{parts}.{form}"
            paths = cut(tmp_path, name, data, parts) if parts > 1 else [write(tmp_path, name, data)]
            counted: list[int] = []
            assert [*contents(paths).values()] == [CSV], form
            assert sha256_of(paths, counted.append) == hashlib.sha256(data).hexdigest()
            assert sum(counted) == len(data)
    assert part_name("x", 29) == "x.partbd"


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
    assert contents([path]) == {
        "a.csv": CSV,
        "empty.csv": b"",
        "name" * 20 + ".csv": b"x" * 512,
        "b.csv": CSV[:1000],
    }
    assert list(tmp_path.iterdir()) == [path]


def test_joins_gzip_streams_and_refuses_damage_after_a_stream(tmp_path: Path) -> None:
    for form in ("csv.gz", "csv.xz"):
        first, second = FORMS[form](CSV[:5000]), FORMS[form](CSV[5000:])
        path = write(tmp_path, f"x.{form}", first + second)
        if form == "csv.gz":
            assert contents([path]) == {"x.csv": CSV}
        for damaged in (b"X" + second[1:], second[:3], second[:-3], b"garbage"):
            path.write_bytes(first + damaged)
            assert refusal(path).startswith("the file is cut short or damaged (")


PAGES = [
    b"<!DOCTYPE html><html><body>404</body></html>",
    b"\n\n  <html>\n<head><title>Sign in</title>",
    b"\xef\xbb\xbf<HTML>",
    b"<?xml version='1.0'?>\n<Error><Code>AccessDenied</Code></Error>",
    b"<Error><Code>NoSuchKey</Code></Error>",
    b"<!-- moved --><html>",
]


def test_says_what_a_file_is_instead_of_data(tmp_path: Path) -> None:
    for form in FORMS:
        path = write(tmp_path, f"x.{form}", b"")
        assert refusal(path).startswith("the file is empty. Fetch it again")
        for page in PAGES:
            path.write_bytes(page)
            assert refusal(path).startswith("this is a web page (an error message, most likely)")
        path.write_bytes("a,b\n".encode("utf-16"))
        assert refusal(path).startswith("this is text in UTF-16")
        path.unlink()
        path.symlink_to(tmp_path / "gone")
        assert refusal(path).startswith("it cannot be read (No such file or directory)")
    for form in COMPRESSED:
        for data in (CSV, b"404: Not Found", b"PK\7\x08zip", b"\x1f"):
            path = write(tmp_path, f"y.{form}", data)
            assert refusal(path).startswith("the content is not what the name says")
    assert "this is a gz file" in refusal(write(tmp_path, "y.csv", gzip.compress(CSV)))
    path = write(tmp_path, "it's x.csv", LFS_POINTER)
    assert refusal(path) == (
        f"this is a Git LFS pointer, not the data. Fetch the real file: git -C {tmp_path} lfs pull "
        "--include 'it'\"'\"'s x.csv'"
    )
    paths = cut(tmp_path, "z.tar.gz", FORMS["tar.gz"](CSV), 3)
    paths[2].write_bytes(LFS_POINTER)
    assert "lfs pull --include z.tar.gz.partac" in refusal(*paths)


def test_refuses_truncated_files_and_missing_parts(tmp_path: Path) -> None:
    for form in COMPRESSED:
        data = FORMS[form](CSV)
        for share in (0.01, 0.5, 0.9, 0.999):
            path = write(tmp_path, f"x.{form}", data[: max(8, int(len(data) * share))])
            assert refusal(path).startswith("the file is cut short or damaged (")
        paths = cut(tmp_path, f"x.{form}", data, 4)
        for kept in (1, 2, 3):
            assert "cut short" in refusal(*paths[:kept])
        for missing in (0, 1, 2):
            with pytest.raises(RawFileError, match="this part of the archive is missing") as refused:
                contents([path for number, path in enumerate(paths) if number != missing])
            assert refused.value.file == str(paths[missing])
            assert f"Fetch {paths[missing].name} into the folder" in refused.value.do
    for data in (b"", b"no tar at all", b"x" * 2000):
        path = write(tmp_path, "x.tar.gz", gzip.compress(data))
        assert refusal(path).startswith("the file is cut short or damaged (")


def test_reports_members_that_look_like_data_and_are_not_read(tmp_path: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        add(archive, {"a.csv": CSV})
        for name, kind in {"b.csv": tarfile.SYMTYPE, "c.csv": tarfile.FIFOTYPE, "d.txt": b"?"}.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = kind, "a.csv"
            archive.addfile(link)
        add(
            archive,
            dict.fromkeys(["e.csv.gz", "f/g.tar", "h.csv.partaa", "LICENSE", "._i.zip", "j.gz"], b"x"),
        )
        add(archive, {"z.csv": CSV[:9]})
    reported: list[str] = []
    path = write(tmp_path, "x.tar", packed.getvalue())
    assert contents([path], reported.append) == {"a.csv": CSV, "z.csv": CSV[:9]}
    in_zip: list[str] = []
    packed_in = zipped({"a.csv": CSV, "e.csv.gz": b"x", "f/g.tar": b"x", "LICENSE": b"x", "._i.zip": b"x"})
    assert contents([write(tmp_path, "x.zip", packed_in)], in_zip.append) == {"a.csv": CSV}
    assert in_zip == [f"{name}, which is compressed inside the archive" for name in ("e.csv.gz", "g.tar")]
    assert reported == [
        "b.csv, which is a link",
        "c.csv, which is not a file",
        *(
            f"{name}, which is compressed inside the archive"
            for name in ("e.csv.gz", "g.tar", "h.csv.partaa")
        ),
    ]


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


def test_refuses_damaged_and_impossible_tars(tmp_path: Path) -> None:
    first = 512 + len(CSV) + -len(CSV) % 512
    for case, block in BAD_TARS.items():
        for before in (b"", tar_of({"a.csv": CSV})[:first]):
            tar = before + block + tar_of({"c.csv": CSV}) * (case != "a name before nothing")
            path = write(tmp_path, "x.tar.gz", gzip.compress(tar, 1))
            assert refusal(path).startswith("the file is cut short or damaged ("), case
    whole = tar_of({"a.csv": CSV, "b.csv": CSV})
    path = tmp_path / "x.tar"
    for ends in (first, first + 100, 2 * first, 2 * first + 511):
        path.write_bytes(whole[:ends])
        assert "(the archive ends without its end mark)" in refusal(path)
    # The first of the two blocks of zeros follows the last file, so the archive is complete.
    path.write_bytes(whole[: 2 * first + 512])
    assert contents([path]) == {"a.csv": CSV, "b.csv": CSV}
    for more in (whole[:first] + bytes(512) + whole[first:], whole + whole):
        path.write_bytes(more)
        assert "more data after the end of the archive" in refusal(path)
    path.write_bytes(with_checksum(header("b.csv", b"0", tarfile.GNUTYPE_SPARSE)) + bytes(1024))
    assert "cannot be read as it is packed (b.csv is stored as a sparse file). Unpack" in refusal(path)


def read_zip(path: Path) -> dict[str, bytes]:
    """Return the members of a zip, read as a partition with all of them."""
    with open_dump(raw_file(path)) as dump:
        names = tuple(info.filename for info in dump.list_zip())
    with open_dump(RawFile((path,), "zip", path.parent, 0, "day=1", names)) as dump:
        return {member.name: member.stream.read() for member in dump.members()}


def test_reads_zip_members_and_refuses_what_is_damaged(tmp_path: Path) -> None:
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path = write(tmp_path, "x.zip", zipped({"d/a.csv": CSV, "b.csv": b"x"}, method))
        assert read_zip(path) == {"a.csv": CSV, "b.csv": b"x"}
    data = bytearray(zipped({"a.csv": CSV}))
    entry = data.index(b"PK\1\2")
    # The comment of the first entry extends over the second entry.
    hidden = bytearray(zipped({"a.csv": CSV, "b.csv": CSV}))
    hidden[hidden.index(b"PK\1\2") + 33] = 0x40
    for damaged, what in {
        bytes(data[: entry + 10]) + b"\x63\0" + bytes(data[entry + 12 :]): "(a.csv in it uses",
        bytes(data[: entry + 8]) + b"\x01\0" + bytes(data[entry + 10 :]): "(a.csv in it is encrypted)",
        bytes(data[: entry + 6]) + b"\x94\0" + bytes(data[entry + 8 :]): "feature: zip file version 14.8",
        bytes(data[: entry + 16]) + b"\0" * 4 + bytes(data[entry + 20 :]): "cut short or damaged (Bad CRC-32",
        bytes(hidden): "does not list all files",
        bytes(data[:-30]): "cut short or damaged",
    }.items():
        with pytest.raises(RawFileError) as refused:
            read_zip(write(tmp_path, "x.zip", damaged))
        assert what in str(refused.value)


def test_refuses_bytes_that_no_entry_of_a_zip_covers(tmp_path: Path) -> None:
    first, second = zipped({"a.csv": CSV}), zipped({"b.csv": b"1,2\n" * 90})
    directory = second.index(b"PK\1\2")
    path = write(tmp_path, "x.zip", second)
    assert contents([path]) == {"b.csv": b"1,2\n" * 90}
    for data, what in {
        first + second: f"({len(first):,} bytes after its start belong to no file",
        b"PK\3\4" + second: "(4 bytes after its start belong to no file",
        second[:directory] + bytes(9) + second[directory:]: "(",
        second + b"x": "(1 bytes follow its end)",
    }.items():
        path.write_bytes(data)
        assert refusal(path).startswith(f"the file is cut short or damaged {what}")


def test_opens_no_pipe_that_replaces_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Opening a pipe blocks, so the test would time out.
    os.mkfifo(tmp_path / "x.csv")
    regular = write(tmp_path, "y.csv", CSV).stat()
    monkeypatch.setattr(Path, "stat", lambda _: regular)
    assert refusal(tmp_path / "x.csv").startswith("it is a named pipe, a device or a folder, not a file")


def test_refuses_file_that_changes_or_vanishes_while_read(tmp_path: Path) -> None:
    for form in ("csv", "csv.xz", "tar.gz"):
        path = write(tmp_path, f"x.{form}", FORMS[form](os.urandom(2 << 20)))
        with (
            pytest.raises(RawFileError, match="it changed while it was read"),
            open_dump(raw_file(path)) as dump,
        ):
            for member in dump.members():
                member.stream.read(10)
                os.utime(path, (0, 0))
            dump.stream.sha256_of_rest()
        paths = cut(tmp_path, f"y.{form}", FORMS[form](os.urandom(3 << 20)), 2)
        with (
            pytest.raises(RawFileError) as refused,
            open_dump(raw_file(*paths), lambda _, path=paths[1]: path.unlink(missing_ok=True)) as dump,
        ):
            for member in dump.members():
                member.stream.read()
        assert str(refused.value).startswith(f"{paths[1]}: it cannot be read (No such file or directory)")
