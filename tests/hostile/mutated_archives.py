"""Change ZIP, tar and compressed files at random: headers, directories, checksums and members."""

import bz2
import gzip
import io
import lzma
import random
import re
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

import pyarrow as pa
from hostile.dumps import gz, tar, zipped, zstd
from hostile.mutated_file import Expected, Make, Mutated, Row
from hostile.mutated_parquet import HOURS, pack
from hostile.mutated_texts import plain_lines
from hostile.mutations import Mutate, damage, one_of

PARTS = {f"part{number}.csv": plain_lines(number) for number in (1, 2)}
MEMBERS = [*((name, lines.text) for name, lines in PARTS.items()), ("README", b"x")]
# A tree of Parquet files.
TREE = [
    (
        f"hourly/day={hour // 2}/hour={hour}/pod-0.parquet",
        pack(HOURS.rows.slice(6 * hour, 6).select(["id", "count"])),
    )
    for hour in range(4)
]
NAMES = (
    *("part1.csv", "./part1.csv", "a/../part1.csv", "/part1.csv", "..\\part1.csv", "part1.csv\0.txt"),
    *(
        "PART1.CSV",
        "part1.csv/",
        "/",
        "part3.csv",
        "é/part3.csv",
        "\x1b[2J.csv",
        "part1.csv.gz",
        "part01.csv",
    ),
    *("", "part1", "__MACOSX/part1.csv", "a/._part3.csv", "part9.jsonl", "x" * 60_000 + ".csv"),
    *(f"hourly/day={day}/hour=1/pod-1.parquet" for day in ("9" * 5000, "9" * 20, "٣", "-1", "007", "1")),
)

# ZIP: the offset and size of the fields after each signature.
ZIP_FIELDS = {
    b"PK\3\4": ((4, 2), (6, 2), (8, 2), (10, 4), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2), (30, 8)),
    b"PK\1\2": (
        *((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2)),
        *((34, 2), (36, 2), (38, 4), (42, 4), (46, 8)),
    ),
    b"PK\5\6": ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)),
    b"PK\6\6": ((4, 8), (12, 2), (16, 4), (20, 4), (24, 8), (32, 8), (40, 8), (48, 8)),
    b"PK\6\7": ((4, 4), (8, 8), (16, 4)),
}


def _set_zip_field(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2))):
        signature = chance.choice([each for each in ZIP_FIELDS if each in data] or [data[:4]])
        places = [found.start() for found in re.finditer(re.escape(signature), data)]
        offset, size = chance.choice(ZIP_FIELDS.get(signature, ((0, 2),)))
        at = chance.choice(places) + offset
        old, most = int.from_bytes(changed[at : at + size], "little"), 256**size - 1
        near = (old + 1, old - 1, old * 2, old ^ 1 << chance.randrange(8 * size))
        new = chance.choice((*near, 0, 1, 8, 12, 14, most, most // 2)) & most
        changed[at : at + size] = new.to_bytes(size, "little")
    return bytes(changed)


def _add_zip64(data: bytes, chance: random.Random) -> bytes:
    """Add the records of ZIP64 before the end record, with correct or wrong numbers."""
    at = data.rfind(b"PK\5\6")
    entries, size, start = struct.unpack_from("<HII", data, at + 10)
    numbers = [entries, entries, size, start]
    if chance.random() < 0.6:
        numbers[chance.randrange(4)] = chance.choice((0, 1, 2**32, 2**63, 2**64 - 1, size + 1))
    record = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, *numbers)
    locator = b"PK\6\7" + struct.pack("<IQI", 0, chance.choice((at, at, 0, 2**64 - 1)), 1)
    end = bytearray(data[at:])
    if chance.random() < 0.7:
        struct.pack_into("<HHII", end, 8, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF)
    return data[:at] + record + locator + bytes(end)


def _rewrite_zip(data: bytes, chance: random.Random) -> bytes:
    """Rewrite the archive with other compression methods and another order, and change one member."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    chance.shuffle(members)
    name, content = members.pop()
    content = chance.choice((content, content, b"", damage(content, chance)))
    members += chance.choice(([(name, content)], [(chance.choice(NAMES), content)], [(name, content)] * 2))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo("x")
            info.filename = name
            # LZMA (14) is rare, because it starts slowly.
            info.compress_type = chance.choice((0, 0, 0, 8, 8, 8, 8, 12, 12, 14))
            with archive.open(info, "w", force_zip64=chance.random() < 0.2) as member:
                member.write(content)
        archive.comment = chance.choice((b"", b"", b"PK\5\6" + bytes(18), b"c" * 65_535))
    return packed.getvalue()


def _surround(data: bytes, chance: random.Random) -> bytes:
    ends = ((b"x" * 9, b""), (b"", b"x"), (b"", bytes(600)), (b"", data), (data[:40], b""))
    before, behind = chance.choice(ends)
    return before + data + behind


_damage_zip = one_of(damage, _set_zip_field, _set_zip_field, _set_zip_field, _add_zip64, _surround)


def mutate_zip(data: bytes, chance: random.Random) -> bytes:
    """Change the fields, the members or the bytes of a zip."""
    if chance.random() < 0.4:
        data = _rewrite_zip(data, chance)
    return _damage_zip(data, chance)


# tar: the offset and size of the fields of a header.
TAR_FIELDS = ((0, 100), (100, 8), (124, 12), (136, 12), (148, 8), (156, 1), (157, 100), (257, 8), (345, 155))
TAR_VALUES = (
    *(bytes([kind]) for kind in b"\x000125LKSVgxXD/"),
    *(b"\xff" * 12, b"\x80" + bytes(10) + b"\1", b"\x80" + b"\xff" * 11, b" " * 8, b"a" * 155, b"\xc3\x28"),
    *b"77777777777\0 -0000000001 00000000001\0 00000001000\0 0000000 ustar part1.csv\0 ../".split(b" "),
)
PAX = (
    *({"size": "10"}, {"size": "-5"}, {"size": "9" * 5000}, {"path": "part1.csv"}, {"path": "a\0b"}),
    *({"GNU.sparse.major": "1", "GNU.sparse.name": "part1.csv"}, {"GNU.sparse.map": "0,5"}, {"mtime": "x"}),
    *({"GNU.sparse.size": "9"}, {"comment": "c" * 70_000}, {"hdrcharset": "x"}, {"hdrcharset": "BINARY"}),
)
TAR_TYPES = (tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE)


def _set_tar_field(data: bytes, chance: random.Random) -> bytes:
    headers = [at for at in range(0, len(data) - 511, 512) if data[at + 257 : at + 262] == b"ustar"]
    at = chance.choice(headers)
    header = bytearray(data[at : at + 512])
    offset, size = chance.choice(TAR_FIELDS)
    new = chance.choice((*TAR_VALUES, chance.randbytes(12)))[:size]
    header[offset : offset + len(new)] = new
    if chance.random() < 0.8:
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
    return data[:at] + bytes(header) + data[at + 512 :]


def _rewrite_tar(data: bytes, chance: random.Random) -> bytes:
    """Rewrite the archive with other headers and names, links, and additional members."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = [(info.name, archive.extractfile(info).read()) for info in archive]  # type: ignore[union-attr]
    members += members[: chance.randrange(2)]
    changed = chance.randrange(len(members))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=chance.randrange(3)) as archive:
        for number, (name, content) in enumerate(members):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            if number == changed:
                info.name = chance.choice((name, *NAMES)).replace("\0", "")[:90]
                info.type = chance.choice(TAR_TYPES)
                info.linkname = "part1.csv"
                info.pax_headers = chance.choice(PAX)
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def mutate_tar(data: bytes, chance: random.Random) -> bytes:
    """Change the headers, the members or the bytes of a tar."""
    if chance.random() < 0.4:
        data = _rewrite_tar(data, chance)
        if chance.random() < 0.5:
            return data
    return one_of(damage, _set_tar_field, _set_tar_field, _set_tar_field, _surround)(data, chance)


# Compressed streams.


def _damage_ends(data: bytes, chance: random.Random) -> bytes:
    """Damage the first or the last bytes, which contain headers, sizes and checksums."""
    length = min(24, len(data) // 2)
    if chance.random() < 0.5:
        return damage(data[:length], chance) + data[length:]
    return data[:-length] + damage(data[-length:], chance)


def _change_gzip_header(data: bytes, chance: random.Random) -> bytes:
    """Add optional fields to the header, complete or truncated."""
    flags = chance.choice((2, 4, 8, 16, 28, 30, chance.randrange(256)))
    extra = chance.choice((b"\0\0", b"\2\0ab", b"\xff\xffab", b"\x04\0RA\0\0")) if flags & 4 else b""
    texts = chance.choice((b"name\0", b"", b"n" * 70_000 + b"\0")) if flags & 24 else b""
    header = data[:3] + bytes([flags]) + data[4:10] + extra + texts
    checksum = struct.pack("<H", zlib.crc32(header) & 0xFFFF) if flags & 2 else b""
    return header + checksum + data[10:]


def _change_xz_header(data: bytes, chance: random.Random) -> bytes:
    """Change the header of a block, such as the size of its dictionary, and correct its checksum."""
    end = 8 + 4 * (data[12] + 1)
    header = bytearray(data[12:end])
    at = chance.randrange(1, len(header))
    header[at] = chance.choice((0, 1, 3, 4, 0x21, 39, 40, 41, 255, chance.randrange(256)))
    return data[:12] + bytes(header) + struct.pack("<I", zlib.crc32(header)) + data[end + 4 :]


def _change_zstd_header(data: bytes, chance: random.Random) -> bytes:
    """Replace the frame header, or add a skippable frame."""
    skipped = b"\x50\x2a\x4d\x18" + struct.pack("<I", chance.choice((0, 4, 2**31, 2**32 - 1))) + b"skip"
    header = data[:4] + chance.randbytes(8)
    return chance.choice((skipped + data, data + skipped, header + data[4:], header[:6] + data[6:]))


OTHER_STREAMS = (
    *(gz(b""), lzma.compress(b"x"), lzma.compress(b"x", lzma.FORMAT_ALONE), zlib.compress(b"x")),
    *(bytes(5), bytes(512), b"x"),
)


def _append(data: bytes, chance: random.Random) -> bytes:
    other = chance.choice((*OTHER_STREAMS, data, data[: len(data) // 2]))
    return chance.choice((data + other, other + data))


# Independent readers.

Members = Callable[[bytes], list[tuple[str, bytes | None]]]
"""Lists the names and contents of the members of an archive. The content of a damaged member is None."""


def _read_zip(data: bytes) -> list[tuple[str, bytes | None]]:
    def content(info: zipfile.ZipInfo) -> bytes | None:
        try:
            return archive.read(info)
        except Exception:
            return None

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(info.filename, content(info)) for info in archive.infolist()]


def _read_tar(data: bytes) -> list[tuple[str, bytes | None]]:
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        regular = [info for info in archive if info.isreg()]
        found = [(info.name.rstrip("/"), archive.extractfile(info).read()) for info in regular]  # type: ignore
        assert not data[archive.offset :].strip(b"\0")
    return found


def _expect_parts(data: bytes, members: Members) -> Expected:
    """Expect the rows that an independent reader finds. If it finds damage, expect only unchanged rows."""
    all_rows = {line: row[1:] for lines in PARTS.values() for line, row in lines.rows.items()}
    as_before = Counter(row for lines in PARTS.values() for row in lines.rows.values())
    try:
        found = [(_part_of(path), content) for path, content in members(data)]
        parts = [(part, content) for part, content in found if part is not None]
    except Exception:
        # Python's modules raise many types of errors on damaged files.
        parts = [(0, None)]
    if any(content is None for _, content in parts):
        return Expected(rows={"part": as_before}, exactly=True)
    count, rows = 0, Counter[Row]()
    for part, content in parts:
        lines = replace(plain_lines(0), rows={line: (part, *row) for line, row in all_rows.items()})
        expected = lines.expect(content or b"")
        count += expected.counts["part"]
        rows += expected.rows["part"]
    return Expected({"part": count}, {"part": rows})


def _part_of(path: str) -> int | None:
    name = re.fullmatch(r"part([0-9]{1,18})\.csv", PurePosixPath(path).name)
    return int(name[1]) if name and not path.endswith("/") else None


def _make_zip(chance: random.Random) -> Mutated:
    if chance.random() < 0.3:
        return _make_zip_of_hours(chance)
    data = mutate_zip(zipped(MEMBERS), chance)
    # `archive.zip` is an archive of the table `part` by its name, `download.zip` by its members.
    name = chance.choice(("archive.zip", "download.zip"))
    return Mutated(name, data, partial(_expect_parts, data, _read_zip))


def _make_tar(chance: random.Random) -> Mutated:
    data = mutate_tar(tar(MEMBERS), chance)
    name = chance.choice(("archive.tar.gz", "download.tar.gz"))
    return Mutated(name, gzip.compress(data, 1), partial(_expect_parts, data, _read_tar))


def _make_stream(form: str, compress: Callable, decompress: Callable, *changes: Mutate) -> Make:
    mutate = one_of(damage, damage, _damage_ends, _damage_ends, _append, *changes)

    def make(chance: random.Random) -> Mutated:
        if chance.random() < 0.5:
            data = mutate(compress(tar(MEMBERS)), chance)
            expect = partial(_expect_parts, data, lambda data: _read_tar(decompress(data)))
            return Mutated(f"archive.tar.{form}", data, expect)
        data = mutate(compress(PARTS["part1.csv"].text), chance)
        return Mutated(f"part1.csv.{form}", data, partial(_expect_part, data, decompress))

    return make


def _expect_part(data: bytes, decompress: Callable[[bytes], bytes]) -> Expected:
    lines = PARTS["part1.csv"]
    try:
        return lines.expect(decompress(data))
    except Exception:
        return Expected(rows={"part": Counter(lines.rows.values())}, exactly=True)


def _decompress_zstd(data: bytes) -> bytes:
    with pa.BufferReader(data) as source, pa.CompressedInputStream(source, "zstd") as stream:
        return stream.read()


def _make_zip_of_hours(chance: random.Random) -> Mutated:
    data = mutate_zip(zipped(TREE), chance)
    return Mutated("hourly.zip", data, partial(_expect_hours, data))


def _expect_hours(data: bytes) -> Expected:
    hours = {content: HOURS.values[6 * n : 6 * n + 6] for n, (_, content) in enumerate(TREE)}
    try:
        found = _read_zip(data)
    except Exception:
        found = list(TREE)
    rows: Counter[Row] = Counter()
    for path, content in found:
        keys = re.search(r"(?:^|/)day=([0-9]{1,18})/hour=([0-9]{1,18})/pod-\d+\.parquet$", path)
        if keys and content in hours:
            rows.update((int(keys[1]), int(keys[2]), *row[2:]) for row in hours[content])
    return Expected(rows={"hourly": rows})


ARCHIVES: dict[str, Make] = {
    "ZIP": _make_zip,
    "tar": _make_tar,
    "gzip": _make_stream("gz", gz, gzip.decompress, _change_gzip_header),
    "bzip2": _make_stream("bz2", bz2.compress, bz2.decompress),
    "xz": _make_stream("xz", lzma.compress, lzma.decompress, _change_xz_header),
    "zstd": _make_stream("zst", zstd, _decompress_zstd, _change_zstd_header),
}
