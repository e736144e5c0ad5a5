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
"""Forms whose good file is read, and whose damaged one is refused."""


def other_packing_cases() -> Iterator[Case]:
    """Packings that no publisher uses: read, and never half."""
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
            yield Case(f"file of {form_name}: {name}", places, form.ending, _repacked(form, change))


def _repacked(form: Form, change: Callable[[bytes], bytes] | None) -> Callable[[Place], Packed]:
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
    """Damage to compressed bytes, independent of their content."""
    places = {".csv.gz": (*NARROW, *WIDE), ".csv.xz": (*NARROW, *WIDE), ".tar.gz": ARCHIVED}
    forms = {form.ending: form for name, form in FORMS.items() if name in ("csv.gz", "csv.xz", "tar.gz")}
    for ending, form in forms.items():
        for name, damage in PACKED.items():
            if ending == ".csv.xz" and name in ONLY_GZIP:
                continue
            yield Case(f"packed as {ending[1:]}: {name}", places[ending], ending, _damaged(form, damage))


def _damaged(
    form: Form, damage: Callable[[Place, bytes], tuple[bytes, Sequence[Way]]]
) -> Callable[[Place], Packed]:
    def make(place: Place) -> Packed:
        [data] = form.pieces(place, text_of(place)).values()
        damaged, ways = damage(place, data)
        return {"": damaged}, ways

    return make


def spoilt(change: Callable[[bytes], bytes], *also: Callable[[Place], Way]) -> Callable:
    """Bytes that are refused, or taken in the ways that are also allowed."""
    return lambda place, data: (change(data), [Refused(), *(way(place) for way in also)])


def all_rows(place: Place) -> Way:
    return Taken(good(place))


def flipped(at: int) -> Callable[[bytes], bytes]:
    """One byte is another."""

    def change(data: bytes) -> bytes:
        place = at % len(data)
        return data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]

    return change


PACKED: dict[str, Callable[[Place, bytes], tuple[bytes, Sequence[Way]]]] = {
    "cut at a tenth": spoilt(lambda data: data[: len(data) // 10]),
    "cut in the middle": spoilt(lambda data: data[: len(data) // 2]),
    "cut near the end": spoilt(lambda data: data[: len(data) * 99 // 100]),
    "without its last byte": spoilt(lambda data: data[:-1]),
    "without its last eight bytes": spoilt(lambda data: data[:-8]),
    "without its first byte": spoilt(lambda data: data[1:]),
    "ten bytes of it": spoilt(lambda data: data[:10]),
    "a byte flipped in the middle": spoilt(lambda data: flipped(len(data) // 2)(data)),
    "a byte flipped in its checksum": spoilt(lambda data: flipped(len(data) - 6)(data)),
    "a byte flipped in its length": spoilt(lambda data: flipped(len(data) - 3)(data)),
    "a page of zeros inside": spoilt(
        lambda data: data[: len(data) // 2] + bytes(60) + data[len(data) // 2 + 60 :]
    ),
    "a piece missing inside": spoilt(lambda data: data[: len(data) // 2] + data[len(data) // 2 + 9 :]),
    "garbage behind": spoilt(lambda data: data + b"garbage", all_rows),
    "zeros behind": spoilt(lambda data: data + bytes(512), all_rows),
    "packed twice": spoilt(lambda data: gz(data)),
    "plain text": spoilt(lambda data: b"a,b\n1,2\n"),
    "bzip2 under its name": spoilt(lambda data: bz2.compress(b"a,b\n1,2\n")),
    "zip under its name": spoilt(lambda data: zipped([("a.csv", b"a,b\n1,2\n")])),
    "zstd under its name": spoilt(lambda data: zstd(b"a,b\n1,2\n")),
    "the other of gzip and xz": spoilt(
        lambda data: lzma.compress(b"a,b\n1,2\n") if data[:2] == b"\x1f\x8b" else gz(b"a,b\n1,2\n")
    ),
    "Git LFS pointer": spoilt(lambda data: LFS_POINTER),
    "web page": spoilt(lambda data: b"<html><body>404</body></html>\n"),
    "JSON error": spoilt(lambda data: b'{"message": "Not Found"}\n'),
    "empty": spoilt(lambda data: b""),
    "nothing packed": spoilt(lambda data: gz(b"") if data[:2] == b"\x1f\x8b" else lzma.compress(b"")),
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
    """A gzip or xz file of several, one behind another, which is one file by its format."""
    for ending, compress in ((".csv.gz", gz), (".csv.xz", lzma.compress)):

        def make(place: Place, compress: Callable[[bytes], bytes] = compress) -> Packed:
            text = text_of(place)
            return {"": compress(text[:100]) + compress(text[100:])}, [Taken(good(place))]

        yield Case(f"packed as {ending[1:]}: packed in two pieces", (*NARROW, *WIDE), ending, make)
