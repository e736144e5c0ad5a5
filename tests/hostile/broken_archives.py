"""Damaged archives: a damaged tar inside a valid gzip, and split archives with a wrong part."""

import io
import tarfile
from collections.abc import Callable, Iterator, Sequence

from hostile.broken_texts import good, no_last_newline, text_of
from hostile.cases import LFS_POINTER, REFUSED, Case, Packed
from hostile.dumps import ARCHIVED, Place, gz, in_parts, tar
from hostile.expectations import Refused, Taken, Way


def tar_cases() -> Iterator[Case]:
    """Yield archives whose gzip is valid and whose tar is damaged."""
    for name, damage in TARS.items():

        def make(place: Place, damage: Callable[[Place], tuple[bytes, Sequence[Way]]] = damage) -> Packed:
            archive, ways = damage(place)
            return {"": gz(archive)}, ways

        yield Case(f"tar inside: {name}", ARCHIVED, ".tar.gz", make)


def one_member(place: Place) -> bytes:
    return tar([(f"{place.stem}.csv", text_of(place))])


def tar_header(archive: bytes, at: int, field: bytes, offset: int, with_checksum: bool = True) -> bytes:
    """Overwrite a field of the header at `at`, and correct the checksum of the header if `with_checksum`."""
    header = bytearray(archive[at : at + 512])
    header[offset : offset + len(field)] = field
    if with_checksum:
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
    return archive[:at] + bytes(header) + archive[at + 512 :]


def damage_header(field: bytes, offset: int, with_checksum: bool = True, *ways: Way) -> Callable:
    return lambda place: (tar_header(one_member(place), 0, field, offset, with_checksum), ways or REFUSED)


def special_member(kind: bytes, target: str = "") -> Callable:
    """Make an archive in which the CSV of the table is a link, a device or a folder."""

    def make(place: Place) -> tuple[bytes, Sequence[Way]]:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            info = tarfile.TarInfo(f"{place.stem}.csv")
            info.type = kind
            info.linkname = target
            archive.addfile(info)
        return packed.getvalue(), REFUSED

    return make


def rename_member(name: str) -> Callable:
    """Put the CSV into another folder of the archive. This is harmless: ingest unpacks nothing to disk."""
    return lambda place: (
        tar([(name.format(stem=place.stem), text_of(place))]),
        [Taken(good(place)), Refused()],
    )


def size_of(place: Place, change: int) -> bytes:
    return b"%011o\0" % (len(text_of(place)) + change)


SIZE, TYPE, NAME, CHECKSUM, MAGIC = 124, 156, 0, 148, 257
BLOCK = 512
TARS: dict[str, Callable[[Place], tuple[bytes, Sequence[Way]]]] = {
    "empty archive": lambda place: (tar([]), REFUSED),
    "no CSV inside": lambda place: (tar([("README.md", b"# Read me\n")]), REFUSED),
    "a CSV of another table inside": lambda place: (tar([("other.csv", b"a,b\n1,2\n")]), REFUSED),
    "without its end": lambda place: (_remove_end(one_member(place)), REFUSED),
    "half of its end": lambda place: (
        _remove_end(one_member(place)) + bytes(BLOCK),
        [Refused(), Taken(good(place))],
    ),
    "the end alone": lambda place: (bytes(2 * BLOCK), REFUSED),
    "many zeros behind": lambda place: (one_member(place) + bytes(100 * BLOCK), [Taken(good(place))]),
    "garbage behind": lambda place: (one_member(place) + b"garbage" * 90, REFUSED),
    "another archive behind": lambda place: (one_member(place) + tar([("more.csv", b"1\n")]), REFUSED),
    "cut inside the member": lambda place: (one_member(place)[: BLOCK + 700], REFUSED),
    "cut inside the header": lambda place: (one_member(place)[:300], REFUSED),
    "no tar": lambda place: (text_of(place), REFUSED),
    "random bytes": lambda place: (bytes((n * n * 31 + 7 * n) % 256 for n in range(4096)), REFUSED),
    "a tar in the tar": lambda place: (tar([(f"{place.stem}.tar", one_member(place))]), REFUSED),
    "a tar under the CSV's name": lambda place: (
        tar([(f"{place.stem}.csv", one_member(place))]),
        # The header of the tar is in the line of the first row, its end in a line after the last row.
        [Refused(), Taken(good(place, [0]), rejected=2)],
    ),
    "the CSV twice": lambda place: (tar([(f"{place.stem}.csv", text_of(place))] * 2), REFUSED),
    "the CSV twice, in two folders": lambda place: (
        tar([(f"a/{place.stem}.csv", text_of(place)), (f"b/{place.stem}.csv", text_of(place))]),
        REFUSED,
    ),
    "with a file of macOS": lambda place: (
        tar([(f"._{place.stem}.csv", b"\0\x05\x16\x07"), (f"{place.stem}.csv", text_of(place))]),
        [Taken(good(place))],
    ),
    "with other files": lambda place: (
        tar([("README", b"x"), (f"{place.stem}.csv", text_of(place)), ("LICENSE", b"y")]),
        [Taken(good(place))],
    ),
    "with a CSV of no table": lambda place: (
        tar([(f"{place.stem}.csv", text_of(place)), ("extra.csv", b"a\n1\n")]),
        [Taken(good(place), reported=True), Refused()],
    ),
    "in the old format": lambda place: (
        tar([(f"{place.stem}.csv", text_of(place))], tarfile.USTAR_FORMAT),
        [Taken(good(place))],
    ),
    "in GNU's format": lambda place: (
        tar([(f"{place.stem}.csv", text_of(place))], tarfile.GNU_FORMAT),
        [Taken(good(place))],
    ),
    "a name of 300 characters, GNU": lambda place: (
        tar([("d" * 150 + "/" + "e" * 130 + f"/{place.stem}.csv", text_of(place))], tarfile.GNU_FORMAT),
        [Taken(good(place))],
    ),
    "a name of 300 characters, PAX": lambda place: (
        tar([("d" * 150 + "/" + "e" * 130 + f"/{place.stem}.csv", text_of(place))]),
        [Taken(good(place))],
    ),
    "in a folder": rename_member("data/2020/{stem}.csv"),
    "in the folder above": rename_member("../../{stem}.csv"),
    "with an absolute path": rename_member("/tmp/{stem}.csv"),
    "in a folder with odd bytes": rename_member("d\udcff/{stem}.csv"),
    "a symbolic link": special_member(tarfile.SYMTYPE, "/etc/passwd"),
    "a hard link": special_member(tarfile.LNKTYPE, "/etc/passwd"),
    "a device": special_member(tarfile.CHRTYPE),
    "a FIFO": special_member(tarfile.FIFOTYPE),
    "a folder": special_member(tarfile.DIRTYPE),
    "a negative size": damage_header(b"\xff" * 12, SIZE),
    "a size of -1 in octal": damage_header(b"-0000000001\0", SIZE),
    "a size of exabytes": damage_header(b"\x80" + bytes(3) + b"\x10" + bytes(7), SIZE),
    "the largest octal size": damage_header(b"777777777777", SIZE),
    "no size": damage_header(b"\0" * 12, SIZE),
    "a size that is a word": damage_header(b"hello world\0", SIZE),
    "a size one less": lambda place: (
        tar_header(one_member(place), 0, size_of(place, -1), SIZE),
        # The shorter member lacks its last newline.
        no_last_newline(place)[1],
    ),
    "a size a block less": lambda place: (
        tar_header(one_member(place), 0, size_of(place, -600), SIZE),
        REFUSED,
    ),
    "a size too large": lambda place: (
        tar_header(one_member(place), 0, size_of(place, 1 << 20), SIZE),
        REFUSED,
    ),
    "a checksum that is wrong": damage_header(b"0000000\0", CHECKSUM, False),
    "a checksum that is a word": damage_header(b"checksum", CHECKSUM, False),
    "a name that is another": damage_header(b"other_table.csv", NAME),
    "a header of 0xff": lambda place: (b"\xff" * BLOCK + one_member(place)[BLOCK:], REFUSED),
    "an unknown type": damage_header(b"Q", TYPE, True, Refused()),
    "a sparse file": damage_header(b"S", TYPE, True, Refused()),
    "a damaged header behind": lambda place: (
        tar_header(
            tar([("a.txt", b"x"), (f"{place.stem}.csv", text_of(place))]), 2 * BLOCK, b"\xff\xff", NAME, False
        ),
        REFUSED,
    ),
    "a PAX header with a wrong size": lambda place: (
        _pax_archive(place, {"size": "10"}),
        [Refused()],
    ),
    "a PAX header with a negative size": lambda place: (_pax_archive(place, {"size": "-5"}), REFUSED),
    "a PAX header with a size that is a word": lambda place: (_pax_archive(place, {"size": "big"}), REFUSED),
    "a PAX header that is damaged": lambda place: (
        _pax_archive(place, {"comment": "c" * 20}).replace(b" comment=", b"xcomment=", 1),
        [Refused(), Taken(good(place))],
    ),
}


def _remove_end(archive: bytes) -> bytes:
    """Remove the blocks of zeros at the end of an archive."""
    return archive.rstrip(b"\0") + bytes(-len(archive.rstrip(b"\0")) % BLOCK)


def _pax_archive(place: Place, headers: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo(f"{place.stem}.csv")
        info.size = len(text_of(place))
        info.pax_headers = headers
        archive.addfile(info, io.BytesIO(text_of(place)))
    return packed.getvalue()


def part_cases() -> Iterator[Case]:
    """Yield split archives with a missing, damaged or additional part."""
    for name, change in PARTS.items():

        def make(place: Place, change: Callable[[Place, dict[str, bytes]], Packed] = change) -> Packed:
            return change(place, in_parts(place, text_of(place)))

        yield Case(f"parts: {name}", ARCHIVED, ".tar.gz", make)


def select_parts(*names: str) -> Callable[[Place, dict[str, bytes]], Packed]:
    return lambda place, parts: ({name: parts[name] for name in names}, REFUSED)


def old_archive(place: Place) -> bytes:
    return gz(tar([(f"{place.stem}.csv", place.text(place.rows("old")))]))


AA, AB, AC = ".partaa", ".partab", ".partac"
PARTS: dict[str, Callable[[Place, dict[str, bytes]], Packed]] = {
    "the first is missing": select_parts(AB, AC),
    "the second is missing": select_parts(AA, AC),
    "the last is missing": select_parts(AA, AB),
    "the first alone": select_parts(AA),
    "the last alone": select_parts(AC),
    "the second is empty": lambda place, parts: (parts | {AB: b""}, REFUSED),
    "the second is cut": lambda place, parts: (parts | {AB: parts[AB][:-5]}, REFUSED),
    "the second is a Git LFS pointer": lambda place, parts: (parts | {AB: LFS_POINTER}, REFUSED),
    "the last is a web page": lambda place, parts: (parts | {AC: b"<html></html>"}, REFUSED),
    "two are exchanged": lambda place, parts: (parts | {AB: parts[AC], AC: parts[AB]}, REFUSED),
    "the second is there twice": lambda place, parts: (parts | {".partad": parts[AB]}, REFUSED),
    "one of another archive": lambda place, parts: (
        parts | {AB: in_parts(place, place.text(place.rows("old")))[AB]},
        REFUSED,
    ),
    "next to the whole": lambda place, parts: (
        parts | {"": b"".join(parts.values())},
        [Taken(good(place))],
    ),
    "next to another whole archive": lambda place, parts: (parts | {"": old_archive(place)}, REFUSED),
    "next to a whole archive that is a pointer": lambda place, parts: (
        parts | {"": LFS_POINTER},
        [Refused(), Taken(good(place), reported=True)],
    ),
    "numbered, from 01": lambda place, parts: (
        {f".part{n:02d}": part for n, part in enumerate(parts.values(), 1)},
        [Taken(good(place)), Refused()],
    ),
    "numbered, one missing": lambda place, parts: ({".part1": parts[AA], ".part3": parts[AC]}, REFUSED),
}
