"""Damage to compressed bytes, and packings that no publisher uses."""

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence

from hostile.broken_texts import cut_at, good, text_of
from hostile.cases import LFS_POINTER, REFUSED, Case, Packed
from hostile.dumps import ARCHIVED, FORMS, NARROW, WIDE, Form, Place, gz, zipped, zstd
from hostile.expectations import Refused, Taken, Way

OTHER_PACKINGS = {
    "csv.bz2": (*NARROW, *WIDE),
    "csv.zst": (*NARROW, *WIDE),
    "CSV": (*NARROW, *WIDE),
    "csv.zip": ARCHIVED,
    "tar": ARCHIVED,
    "tgz": ARCHIVED,
    "tar.bz2": ARCHIVED,
    "tar.xz": ARCHIVED,
    "tar.zst": ARCHIVED,
    "numbered parts": ARCHIVED,
}
"""Packings whose valid file is read, and whose damaged file is refused."""


def other_packing_cases() -> Iterator[Case]:
    """Yield files in packings that no publisher uses. Ingest reads all rows of a file, or refuses it."""
    for form_name, places in OTHER_PACKINGS.items():
        form = FORMS[form_name]
        for name, change in (
            ("good", None),
            ("cut at an eighth", lambda data: data[: len(data) // 8]),
            ("without its last byte", lambda data: data[:-1]),
            ("empty", lambda data: b""),
            ("a web page", lambda data: b"<html><body>404</body></html>\n"),
        ):
            if form_name in ("CSV", "tar") and name == "without its last byte":
                continue
            yield Case(f"file of {form_name}: {name}", places, form.ending, _change_packed(form, change))


def _change_packed(form: Form, change: Callable[[bytes], bytes] | None) -> Callable[[Place], Packed]:
    def make(place: Place) -> Packed:
        pieces = form.pieces(place, text_of(place))
        if change is None:
            return pieces, [Taken(good(place))]
        last = list(pieces)[-1]
        ways: Sequence[Way] = REFUSED
        if form.ending == ".CSV" and change(bytes(8)) == bytes(1):
            _, ways = cut_at(0.5)(place)
            return {"": cut_at(0.5)(place)[0]}, ways
        return pieces | {last: change(pieces[last])}, ways

    return make


def packed_cases() -> Iterator[Case]:
    """Yield damaged compressed files. The damage does not depend on their content."""
    places = {".csv.gz": (*NARROW, *WIDE), ".csv.xz": (*NARROW, *WIDE), ".tar.gz": ARCHIVED}
    forms = {form.ending: form for name, form in FORMS.items() if name in ("csv.gz", "csv.xz", "tar.gz")}
    for ending, form in forms.items():
        for name, damage in PACKED.items():
            if ending == ".csv.xz" and name in ONLY_GZIP:
                continue
            yield Case(
                f"packed as {ending[1:]}: {name}", places[ending], ending, _damage_packed(form, damage)
            )


def _damage_packed(
    form: Form, damage: Callable[[Place, bytes], tuple[bytes, Sequence[Way]]]
) -> Callable[[Place], Packed]:
    def make(place: Place) -> Packed:
        [data] = form.pieces(place, text_of(place)).values()
        damaged, ways = damage(place, data)
        return {"": damaged}, ways

    return make


def damage_bytes(change: Callable[[bytes], bytes], *also: Callable[[Place], Way]) -> Callable:
    """Damage bytes. Ingest may refuse them, or accept them with one of the outcomes in `also`."""
    return lambda place, data: (change(data), [Refused(), *(way(place) for way in also)])


def all_rows(place: Place) -> Way:
    return Taken(good(place))


def flip_bit(at: int) -> Callable[[bytes], bytes]:
    """Return a function that flips one bit of the byte at this position."""

    def change(data: bytes) -> bytes:
        place = at % len(data)
        return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]

    return change


PACKED: dict[str, Callable[[Place, bytes], tuple[bytes, Sequence[Way]]]] = {
    "cut at a tenth": damage_bytes(lambda data: data[: len(data) // 10]),
    "cut in the middle": damage_bytes(lambda data: data[: len(data) // 2]),
    "cut near the end": damage_bytes(lambda data: data[: len(data) * 99 // 100]),
    "without its last byte": damage_bytes(lambda data: data[:-1]),
    "without its last eight bytes": damage_bytes(lambda data: data[:-8]),
    "without its first byte": damage_bytes(lambda data: data[1:]),
    "ten bytes of it": damage_bytes(lambda data: data[:10]),
    "a byte flipped in the middle": damage_bytes(lambda data: flip_bit(len(data) // 2)(data)),
    "a byte flipped in its checksum": damage_bytes(lambda data: flip_bit(len(data) - 6)(data)),
    "a byte flipped in its length": damage_bytes(lambda data: flip_bit(len(data) - 3)(data)),
    "a page of zeros inside": damage_bytes(
        lambda data: data[: len(data) // 2] + bytes(60) + data[len(data) // 2 + 60 :]
    ),
    "a piece missing inside": damage_bytes(lambda data: data[: len(data) // 2] + data[len(data) // 2 + 9 :]),
    "garbage behind": damage_bytes(lambda data: data + b"garbage", all_rows),
    "zeros behind": damage_bytes(lambda data: data + bytes(512), all_rows),
    "packed twice": damage_bytes(lambda data: gz(data)),
    "plain text": damage_bytes(lambda data: b"a,b\n1,2\n"),
    "bzip2 under its name": damage_bytes(lambda data: bz2.compress(b"a,b\n1,2\n")),
    "zip under its name": damage_bytes(lambda data: zipped([("a.csv", b"a,b\n1,2\n")])),
    "zstd under its name": damage_bytes(lambda data: zstd(b"a,b\n1,2\n")),
    "the other of gzip and xz": damage_bytes(
        lambda data: lzma.compress(b"a,b\n1,2\n") if data[:2] == b"\x1f\x8b" else gz(b"a,b\n1,2\n")
    ),
    "Git LFS pointer": damage_bytes(lambda data: LFS_POINTER),
    "web page": damage_bytes(lambda data: b"<html><body>404</body></html>\n"),
    "JSON error": damage_bytes(lambda data: b'{"message": "Not Found"}\n'),
    "empty": damage_bytes(lambda data: b""),
    "nothing packed": damage_bytes(lambda data: gz(b"") if data[:2] == b"\x1f\x8b" else lzma.compress(b"")),
    "gzip with a name, a comment and more": lambda place, data: (
        b"\x1f\x8b\x08\x1e"
        + bytes(4)
        + b"\0\x03"
        + struct.pack("<H", 3)
        + b"abc"
        + b"name\0comment\0"
        + struct.pack("<H", _header_checksum(data))
        + data[10:],
        [Taken(good(place)), Refused()],
    ),
}
ONLY_GZIP = frozenset({"gzip with a name, a comment and more"})


def _header_checksum(data: bytes) -> int:
    return (
        zlib.crc32(
            b"\x1f\x8b\x08\x1e" + bytes(4) + b"\0\x03" + struct.pack("<H", 3) + b"abc" + b"name\0comment\0"
        )
        & 0xFFFF
    )


def members_cases() -> Iterator[Case]:
    """Yield gzip and xz files of two compressed streams in a row, which both formats allow."""
    for ending, compress in ((".csv.gz", gz), (".csv.xz", lzma.compress)):

        def make(place: Place, compress: Callable[[bytes], bytes] = compress) -> Packed:
            text = text_of(place)
            return {"": compress(text[:100]) + compress(text[100:])}, [Taken(good(place))]

        yield Case(f"packed as {ending[1:]}: packed in two pieces", (*NARROW, *WIDE), ending, make)
