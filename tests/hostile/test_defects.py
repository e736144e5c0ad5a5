"""A table of defects for each format: ingest refuses the file, or keeps and rejects the right rows.

All defects of a format are in one raw folder, each in a file of its own, so that one damaged file is next to
many others and must not change them.
"""

import bz2
import gzip
import io
import lzma
import re
import shutil
import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import suites
from command_line import Run, Server
from hostile.dumps import (
    ARCHIVED,
    NARROW,
    UNTOUCHED,
    WIDE,
    Place,
    Rows,
    gz,
    in_parts,
    raw_folder,
    tar,
    zipped,
)
from hostile.expectations import fail_with, opened, unsound

ROWS = 40
POD = NARROW[0]
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"
PAGES = {
    "a Git LFS pointer": LFS_POINTER,
    "a web page": b"<!DOCTYPE html>\n<html><body>404</body></html>\n",
    "a JSON error": b'{"message": "Not Found", "status": "404"}\n',
    "random bytes": bytes((n * n * 31 + 7 * n) % 256 for n in range(4000)),
}


@dataclass(frozen=True)
class Kept:
    """The file is accepted. All rows are kept, except those with the numbers in `lost`."""

    lost: Sequence[int] = ()
    rejected: int | None = None


REFUSED = None
Outcome = Kept | None
Defect = tuple[Callable[[bytes], bytes], Outcome]


def lines_of(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def in_row(row: int, change: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Change the line of a row, from 0."""

    def changed(data: bytes) -> bytes:
        lines = lines_of(data)
        at = len(lines) - ROWS + row
        lines[at] = change(lines[at])
        return b"".join(lines)

    return changed


def number_in_row_5(text: str) -> Callable[[bytes], bytes]:
    return in_row(5, lambda line: line.rsplit(b",", 1)[0] + f",{text}\n".encode())


def bad_rows(count: int) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        lines = lines_of(data)
        first = len(lines) - ROWS
        spoilt = [line.rsplit(b",", 1)[0] + b",x\n" for line in lines[first : first + count]]
        return b"".join([*lines[:first], *spoilt, *lines[first + count :]])

    return changed


def replace(old: bytes, new: bytes, count: int = -1) -> Callable[[bytes], bytes]:
    return lambda data: data.replace(old, new, count)


# Each replaces the number of row 5, which does not fit the type of the column.
WRONG_INTEGERS = (
    *(
        "x",
        "inf",
        "-Infinity",
        "1e400",
        "0x10",
        "1_000",
        "12abc",
        "1.2.3",
        "--5",
        "true",
        '"1,5"',
        "１２",
    ),
    *("1.5", "9223372036854775808", "1" * 30, " 7 8"),
)
REJECTED_5 = Kept([5], 1)
TEXTS: dict[str, Defect] = {
    "good": (bytes, Kept()),
    "carriage returns and newlines": (replace(b"\n", b"\r\n"), Kept()),
    "blank lines": (replace(b"\n", b"\n\n\n"), Kept()),
    "a byte order mark": (lambda data: b"\xef\xbb\xbf" + data, Kept()),
    "1e5 as an integer": (number_in_row_5("1e5"), Kept([5], 0)),
    "an empty number": (number_in_row_5(""), Kept([5], 0)),
    "NaN for a missing number": (number_in_row_5("NaN"), Kept([5], 0)),
    "no newline at the end": (lambda data: data[:-1], Kept()),
    "a field too many in a row": (in_row(7, lambda line: line[:-1] + b",1\n"), Kept([7], 1)),
    "a field missing in a row": (in_row(7, lambda line: line.rsplit(b",", 1)[0] + b"\n"), Kept([7], 1)),
    "a NUL": (in_row(8, lambda line: b"\0" + line), Kept([8], 1)),
    "a byte that is not UTF-8": (in_row(8, lambda line: b"\xff" + line), Kept([8], 1)),
    "the header again": (in_row(9, lambda line: POD.header.encode() + b"\n" + line), Kept([], 1)),
    "a tenth of the rows bad": (bad_rows(ROWS // 10), Kept(range(ROWS // 10), ROWS // 10)),
    "over a tenth of the rows bad": (bad_rows(ROWS // 10 + 1), REFUSED),
    "all rows bad": (bad_rows(ROWS), REFUSED),
    "empty": (lambda _: b"", REFUSED),
    "spaces alone": (lambda _: b"      \n   \n", REFUSED),
    "another header": (lambda _: b"a,b,c\n1,2,3\n", REFUSED),
    "no header": (lambda data: data.split(b"\n", 1)[1], REFUSED),
    "a header without a column": (replace(b"qos,", b"", 1), REFUSED),
    "a header with a column twice": (replace(b"scheduled_time", b"scheduled_time,qos", 1), REFUSED),
    "a comma behind every row": (replace(b"\n", b",\n"), REFUSED),
    "semicolons": (replace(b",", b";"), REFUSED),
    "tabs": (replace(b",", b"\t"), REFUSED),
    **{f"{number} as an integer": (number_in_row_5(number), REJECTED_5) for number in WRONG_INTEGERS},
    **{name: ((lambda _, page=page: page), REFUSED) for name, page in PAGES.items()},
}
WIDE_TEXTS: dict[str, Defect] = {
    "good": (bytes, Kept()),
    "inf": (number_in_row_5("inf"), REJECTED_5),
    "a word": (number_in_row_5("x"), REJECTED_5),
    "a field too many": (in_row(7, lambda line: line[:-1] + b",1\n"), Kept([7], 1)),
    "a time out of range": (in_row(7, replace(b"2023-", b"99999-")), Kept([7], 1)),
    "a day that does not exist": (in_row(7, replace(b"-05-01", b"-02-30")), Kept([7], 1)),
    "a time twice": (lambda data: data + lines_of(data)[3], Kept([], 1)),
    "a header with a column twice": (replace(b"-0\n", b"-0,10.140.0.1-0\n", 1), REFUSED),
    "empty": (lambda _: b"", REFUSED),
    "half of the rows bad": (bad_rows(ROWS // 2), REFUSED),
    **{name: ((lambda _, page=page: page), REFUSED) for name, page in PAGES.items()},
}


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]


# Damage to compressed bytes.
COMPRESSED: dict[str, Defect] = {
    "good": (bytes, Kept()),
    "two streams": (lambda data: gz(gzip.decompress(data)[:300]) + gz(gzip.decompress(data)[300:]), Kept()),
    "cut in the middle": (lambda data: data[: len(data) // 2], REFUSED),
    "without its last byte": (lambda data: data[:-1], REFUSED),
    "ten bytes of it": (lambda data: data[:10], REFUSED),
    "a flipped bit": (lambda data: flip(data, len(data) // 2), REFUSED),
    "a wrong checksum": (lambda data: flip(data, len(data) - 6), REFUSED),
    "a wrong length": (lambda data: flip(data, len(data) - 3), REFUSED),
    "a piece missing": (lambda data: data[: len(data) // 2] + data[len(data) // 2 + 9 :], REFUSED),
    "packed twice": (gz, REFUSED),
    "plain text": (lambda _: b"a,b\n1,2\n", REFUSED),
    "bzip2": (lambda _: bz2.compress(b"a,b\n1,2\n"), REFUSED),
    "ZIP": (lambda _: zipped([("a.csv", b"a,b\n1,2\n")]), REFUSED),
    "xz": (lambda data: lzma.compress(gzip.decompress(data)), REFUSED),
    "nothing": (lambda _: b"", REFUSED),
    **{name: ((lambda _, page=page: page), REFUSED) for name, page in PAGES.items()},
}

SIZE, CHECKSUM, TYPE = 124, 148, 156


def header_with(at: int, value: bytes, with_checksum: bool = True) -> Callable[[Place, bytes], bytes]:
    """Overwrite a field of the member's header, and correct the checksum of the header."""

    def make(place: Place, text: bytes) -> bytes:
        data = bytearray(tar([(f"{place.stem}.csv", text)]))
        data[at : at + len(value)] = value
        if with_checksum:
            data[CHECKSUM : CHECKSUM + 8] = b" " * 8
            data[CHECKSUM : CHECKSUM + 8] = b"%06o\0 " % sum(data[:512])
        return bytes(data)

    return make


def member(name: str) -> Callable[[Place, bytes], bytes]:
    return lambda place, text: tar([(name.format(place.stem), text)])


def link(place: Place, _: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        info = tarfile.TarInfo(f"{place.stem}.csv")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    return packed.getvalue()


# Tars inside a valid gzip.
TARS: dict[str, tuple[Callable[[Place, bytes], bytes], Outcome]] = {
    "good": (member("{}.csv"), Kept()),
    "in a folder": (member("data/2020/{}.csv"), Kept()),
    "in the folder above": (member("../../{}.csv"), Kept()),
    "with a file of macOS": (lambda p, t: tar([(f"._{p.stem}.csv", b"\0\5"), (f"{p.stem}.csv", t)]), Kept()),
    "with a README": (lambda p, t: tar([("README", b"x"), (f"{p.stem}.csv", t)]), Kept()),
    "zeros behind": (lambda p, t: tar([(f"{p.stem}.csv", t)]) + bytes(51_200), Kept()),
    "no CSV": (lambda p, t: tar([("README.md", b"# Read me\n")]), REFUSED),
    "the CSV twice": (lambda p, t: tar([(f"{p.stem}.csv", t)] * 2), REFUSED),
    "cut in the member": (lambda p, t: tar([(f"{p.stem}.csv", t)])[:1200], REFUSED),
    "cut in the header": (lambda p, t: tar([(f"{p.stem}.csv", t)])[:300], REFUSED),
    "garbage behind": (lambda p, t: tar([(f"{p.stem}.csv", t)]) + b"garbage" * 90, REFUSED),
    "no tar": (lambda p, t: t, REFUSED),
    "a tar in the tar": (lambda p, t: tar([(f"{p.stem}.tar", tar([(f"{p.stem}.csv", t)]))]), REFUSED),
    "a link": (link, REFUSED),
    "a negative size": (header_with(SIZE, b"\xff" * 12), REFUSED),
    "a size of exabytes": (header_with(SIZE, b"\x80\0\0\0\x10" + bytes(7)), REFUSED),
    "a size that is a word": (header_with(SIZE, b"hello world\0"), REFUSED),
    "a wrong checksum": (header_with(CHECKSUM, b"0000000\0", False), REFUSED),
    "an unknown type": (header_with(TYPE, b"Q"), REFUSED),
}


HOUR = Place(
    "asi.network_hourly",
    "asi_opensource_network_hourly",
    *("", "{name},{number}", "server_id", "rx_gibps_avg"),
)
# Fields of an entry in the directory of a zip.
SIZES, EXTRA_LENGTH, OFFSET = 20, 30, 42


def hour(rows: Rows | None = None) -> bytes:
    """Return a Parquet file of `HOUR`, by default with the rows of a new version."""
    rows = HOUR.rows("new", ROWS) if rows is None else rows
    numbers = pa.array(rows.values(), pa.float64())
    packed = io.BytesIO()
    table = pa.table({"server_id": [*rows], "rx_gibps_avg": numbers, "tx_gibps_avg": numbers})
    pq.write_table(table, packed)
    return packed.getvalue()


HOUR_PATH = "x/day={}/hour=07/part-000.parquet"


def hours(*paths: str, change: float = 0) -> Callable[[int], bytes]:
    """Write a zip of hours with equal rows, except that `change` is added to the numbers of the second."""
    rows = HOUR.rows("new", ROWS)
    changed = {name: (number or 0) + change for name, number in rows.items()}
    contents = [hour(rows), hour(changed)]
    return lambda day: zipped([(path.format(day), data) for path, data in zip(paths, contents, strict=False)])


class Unseekable(io.BytesIO):
    """A stream into which a zip can only be written with the sizes after each file."""

    def seekable(self) -> bool:
        return False


def zipped_with(*, stream: io.BytesIO, extra: bytes = b"", zip64: bool = False) -> Callable[[int], bytes]:
    """Write a zip of one hour with Python's options."""

    def make(day: int) -> bytes:
        stream.seek(0)
        stream.truncate()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.comment = b"as the publisher wrote it"
            info = zipfile.ZipInfo(HOUR_PATH.format(day))
            info.extra = extra
            archive.mkdir("x")
            with archive.open(info, "w", force_zip64=zip64) as file:
                file.write(hour())
        return stream.getvalue()

    return make


def around(before: bytes = b"", after: bytes = b"") -> Callable[[int], bytes]:
    return lambda day: before + hours(HOUR_PATH)(day) + after


def two_zips(day: int) -> bytes:
    """Return two zips in one file. The directory of the second lists its own hour only."""
    return zipped([(HOUR_PATH.replace("07", "06").format(day), hour())]) + hours(HOUR_PATH)(day)


def in_directory(at: int, value: bytes, entry: int = 0) -> Callable[[int], bytes]:
    """Overwrite a field in an entry of the directory of a zip with two hours."""

    def make(day: int) -> bytes:
        data = bytearray(hours(HOUR_PATH.replace("07", "06"), HOUR_PATH, change=1)(day))
        entries = [found.start() for found in re.finditer(b"PK\1\2", data)]
        data[entries[entry] + at : entries[entry] + at + len(value)] = value
        return bytes(data)

    return make


def zip64_fields(*fields: int) -> Callable[[int], bytes]:
    """Return a zip whose directory has the unpacked and the packed size, and the offset, as 64 bits."""

    def make(day: int) -> bytes:
        data = hours(HOUR_PATH)(day)
        entry, end = data.rindex(b"PK\1\2"), data.rindex(b"PK\5\6")
        extra = struct.pack(f"<HH{len(fields)}Q", 1, 8 * len(fields), *fields)
        directory, tail = bytearray(data[entry:end]) + extra, bytearray(data[end:])
        directory[SIZES : SIZES + 8] = b"\xff" * 8
        if len(fields) > 2:
            directory[OFFSET : OFFSET + 4] = b"\xff" * 4
        directory[EXTRA_LENGTH : EXTRA_LENGTH + 2] = struct.pack("<H", len(extra))
        tail[12:16] = struct.pack("<L", len(directory))
        return data[:entry] + bytes(directory) + bytes(tail)

    return make


ZIPS: dict[str, tuple[Callable[[int], bytes], Outcome]] = {
    "good": (hours(HOUR_PATH), Kept()),
    "sizes after the data": (zipped_with(stream=Unseekable()), Kept()),
    "sizes of 64 bits": (zipped_with(stream=io.BytesIO(), zip64=True), Kept()),
    "sizes of 64 bits after the data": (zipped_with(stream=Unseekable(), zip64=True), Kept()),
    "aligned": (zipped_with(stream=io.BytesIO(), extra=b"\x35\xd9\x06\0\4\0\0\0\0\0"), Kept()),
    "two zips": (two_zips, REFUSED),
    "a program in front": (around(b"PK\3\4" + bytes(500)), REFUSED),
    "a byte behind": (around(after=b"\n"), REFUSED),
    "without its last byte": (lambda day: hours(HOUR_PATH)(day)[:-1], REFUSED),
    "an end that is cut": (lambda day: hours(HOUR_PATH)(day)[:-12], REFUSED),
    "a file that the directory lists twice": (in_directory(OFFSET, bytes(4), 1), REFUSED),
    "a packed size of 0": (in_directory(SIZES, bytes(4)), REFUSED),
    "a packed size of 4 GB": (in_directory(SIZES, b"\xfe\xff\xff\xff"), REFUSED),
    "an unpacked size of 4 GB": (in_directory(SIZES + 4, b"\xfe\xff\xff\xff"), REFUSED),
    "a folder with bytes": (hours(HOUR_PATH, HOUR_PATH.replace("07", "08") + "/"), REFUSED),
    "an hour in two folders": (hours(HOUR_PATH, f"y/{HOUR_PATH}"), REFUSED),
    "an hour in two folders, changed": (hours(HOUR_PATH, f"y/{HOUR_PATH}", change=1), REFUSED),
    "an hour with and without 0": (hours(HOUR_PATH, HOUR_PATH.replace("07", "7")), REFUSED),
    "a day in upper case": (hours(HOUR_PATH, HOUR_PATH.replace("day", "DAY")), REFUSED),
    "a part twice": (hours(HOUR_PATH, HOUR_PATH.replace("000", "001")), REFUSED),
    "hour 24": (hours(HOUR_PATH, HOUR_PATH.replace("07", "24"), change=1), REFUSED),
    "sizes near 2**64": (zip64_fields(2**64 - 5, 2**64 - 9), REFUSED),
    "a packed size of 2**63": (zip64_fields(len(hour()), 2**63), REFUSED),
    "an unpacked size near 2**64": (zip64_fields(2**64 - 5, len(hours(HOUR_PATH)(1)) - 200), REFUSED),
    "an offset near 2**64": (zip64_fields(len(hour()), 700, 2**64 - 9), REFUSED),
}


def parts(*chosen: int, change: Callable[[bytes], bytes] = bytes) -> Callable[[dict[str, bytes]], dict]:
    """Keep some of three parts, and change the second."""

    def make(whole: dict[str, bytes]) -> dict[str, bytes]:
        names = list(whole)
        return {names[n]: change(whole[names[n]]) if n == 1 else whole[names[n]] for n in chosen}

    return make


PARTS = {
    "good": (parts(0, 1, 2), Kept()),
    "the first missing": (parts(1, 2), REFUSED),
    "the second missing": (parts(0, 2), REFUSED),
    "the last missing": (parts(0, 1), REFUSED),
    "an empty part": (parts(0, 1, 2, change=lambda _: b""), REFUSED),
    "a pointer as a part": (parts(0, 1, 2, change=lambda _: LFS_POINTER), REFUSED),
    "a cut part": (parts(0, 1, 2, change=lambda data: data[:-5]), REFUSED),
}


def faults_of(
    place: Place, file: str, outcome: Outcome, run: Run, connection: duckdb.DuckDBPyConnection
) -> list[str]:
    """Compare the outcome for a file with the expected one."""
    errors = [line for line in run.errors if file in line]
    counts = connection.execute(
        "select coalesce(sum(rows_kept), 0), coalesce(sum(rows_rejected), 0) from catalog.sources"
        " where table_name = $table and contains(file, $file)",
        {"table": place.table, "file": file},
    ).fetchall()
    if outcome is REFUSED:
        return [] if errors and counts == [(0, 0)] else [f"not refused: {counts}, {errors}"]
    if errors:
        return errors
    names = place.names("new", ROWS)
    rejected = outcome.rejected if outcome.rejected is not None else 0
    kept = len(names) - len(outcome.lost) + (len(outcome.lost) if not rejected else 0)
    return [] if counts == [(kept, rejected)] else [f"kept and rejected {counts}, not {(kept, rejected)}"]


def values_of(place: Place, where: str, connection: duckdb.DuckDBPyConnection) -> dict[str, float | None]:
    return dict(
        connection.execute(f"select {place.name}, {place.number} from {place.table} where {where}").fetchall()
    )


def wrong_values(place: Place, where: str, outcome: Kept, connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return rows that should be there unchanged, and are not."""
    stored = values_of(place, where, connection)
    rows = place.rows("new", ROWS)
    right = {name: number for n, (name, number) in enumerate(rows.items()) if n not in outcome.lost}
    changed = [name for name, number in right.items() if stored.get(name) != number]
    return [f"{len(changed)} rows differ, such as {changed[0]}"] if changed else []


def ingest(server: Server, folder: Path, files: dict[str, bytes]) -> tuple[Run, Path]:
    raw = raw_folder(folder / "raw")
    # A warehouse needs a valid file.
    for name, data in (files | {UNTOUCHED.path(".csv"): UNTOUCHED.text(UNTOUCHED.rows("new"))}).items():
        path = raw / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return server.run("ingest", "--raw", raw, "--warehouse", folder / "warehouse"), folder / "warehouse"


def text_of(place: Place) -> bytes:
    return place.text(place.rows("new", ROWS))


def test_csv_and_gzip(server: Server, tmp_path: Path) -> None:
    """Every list of pods is a file of its own, so that all defects are in one ingest."""
    files, expected = {}, {}
    for number, (name, (change, outcome)) in enumerate(TEXTS.items()):
        file = f"openb_pod_list_text{number}.csv"
        files[file], expected[f"text{number}"] = change(text_of(POD)), (name, file, outcome)
    for number, (name, (change, outcome)) in enumerate(COMPRESSED.items()):
        file = f"openb_pod_list_gz{number}.csv.gz"
        files[file] = change(gz(text_of(POD)))
        expected[f"gz{number}"] = (f"gzip, {name}", file, outcome)
    run, warehouse = ingest(server, tmp_path, files)
    found = {"the ingest": faults} if (faults := run.faults()) else {}
    with opened(warehouse) as connection:
        found |= {"the warehouse": faults} if (faults := unsound(connection, warehouse)) else {}
        for variant, (name, file, outcome) in expected.items():
            faults = faults_of(POD, file, outcome, run, connection)
            if outcome is not REFUSED and not faults:
                faults = wrong_values(POD, f"variant = '{variant}'", outcome, connection)
            found |= {name: faults} if faults else {}
    fail_with(found)


def test_wide_csv(server: Server, tmp_path: Path) -> None:
    places = [place for place in WIDE if place.table == "acme.gpu_metric"]
    cases = list(zip(places, WIDE_TEXTS.items(), strict=False))
    assert len(cases) == len(WIDE_TEXTS)
    files = {place.path(".csv"): change(text_of(place)) for place, (_, (change, _)) in cases}
    run, warehouse = ingest(server, tmp_path, files)
    found = {"the ingest": faults} if (faults := run.faults()) else {}
    with opened(warehouse) as connection:
        found |= {"the warehouse": faults} if (faults := unsound(connection, warehouse)) else {}
        for place, (name, (_, outcome)) in cases:
            faults = faults_of(place, place.path(".csv"), outcome, run, connection)
            if outcome is not REFUSED and not faults:
                faults = wrong_values(place, place.picked, outcome, connection)
            found |= {name: faults} if faults else {}
    fail_with(found)


def test_zips_of_partitions(server: Server, tmp_path: Path) -> None:
    """Every zip has a day of its own, so that all defects are in one ingest."""
    cases = list(enumerate(ZIPS.items()))
    files = {f"zip{day}/{HOUR.stem}.zip": make(day) for day, (_, (make, _)) in cases}
    run, warehouse = ingest(server, tmp_path, files)
    found = {"the ingest": faults} if (faults := run.faults()) else {}
    with opened(warehouse) as connection:
        found |= {"the warehouse": faults} if (faults := unsound(connection, warehouse)) else {}
        for day, (name, (_, outcome)) in cases:
            faults = faults_of(HOUR, f"zip{day}/", outcome, run, connection)
            if outcome is not REFUSED and not faults:
                faults = wrong_values(HOUR, f"day = {day}", outcome, connection)
            found |= {name: faults} if faults else {}
    fail_with(found)


def archives() -> Iterator[tuple[str, Callable[[Place], dict[str, bytes]], Outcome]]:
    """Yield a name, the files of an archive of a table, and the outcome."""
    for name, (make, outcome) in TARS.items():
        yield f"tar, {name}", lambda p, make=make: {".tar.gz": gz(make(p, text_of(p)))}, outcome
    for name, (select, outcome) in PARTS.items():
        yield (
            f"parts, {name}",
            lambda p, select=select: {
                f".tar.gz{part}": data for part, data in select(in_parts(p, text_of(p))).items()
            },
            outcome,
        )


@suites.of("long")
def test_archives(server: Server, tmp_path: Path) -> None:
    """Each ingest has one defect in each of the tables of PAI."""
    found: dict[str, list[str]] = {}
    cases = list(archives())
    for start in range(0, len(cases), len(ARCHIVED)):
        chosen = list(zip(ARCHIVED, cases[start : start + len(ARCHIVED)], strict=False))
        files = {
            f"{place.stem}{ending}": data
            for place, (_, make, _) in chosen
            for ending, data in make(place).items()
        }
        folder = tmp_path / str(start)
        run, warehouse = ingest(server, folder, files)
        found |= {f"the ingest from {start}": faults} if (faults := run.faults()) else {}
        with opened(warehouse) as connection:
            for place, (name, _, outcome) in chosen:
                faults = faults_of(place, place.stem, outcome, run, connection)
                if outcome is not REFUSED and not faults:
                    faults = wrong_values(place, "true", outcome, connection)
                found |= {name: faults} if faults else {}
        shutil.rmtree(folder)
    fail_with(found)
