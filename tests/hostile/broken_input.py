"""Kinds of broken input: each a damage, the form of file that it is done to, and what may become of it.

A case says all that is allowed, and no more: a file is refused, and its table keeps the rows that it had, or
it is taken, and exactly these rows are stored.
"""

import bz2
import lzma
import struct
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from hostile.dumps import (
    ARCHIVED,
    FORMS,
    NARROW,
    ROW_COUNT,
    WIDE,
    Form,
    Place,
    gz,
    in_parts,
    tar,
    zipped,
    zstd,
)
from hostile.expectations import Refused, Taken, Way

Told = tuple[bytes, Sequence[Way]]
Packed = tuple[dict[str, bytes], Sequence[Way]]

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"
REFUSED = (Refused(),)
A_TENTH = ROW_COUNT // 10


@dataclass(frozen=True)
class Damage:
    """What is done to the text of a CSV, and to which: `fits` says so of a place."""

    name: str
    make: Callable[[Place], Told]
    fits: Callable[[Place], bool] = lambda _: True


@dataclass(frozen=True)
class Case:
    """One damaged file: its form, where it may lie, and how it is made."""

    name: str
    places: Sequence[Place]
    ending: str
    make: Callable[[Place], Packed]


def first_line(place: Place) -> int:
    """The line that the first row stands on."""
    return 2 if place.published_header else 1


def with_lines(place: Place, changed: dict[int, str]) -> bytes:
    """A new version some of whose rows have other lines."""
    lines = place.lines(place.rows("new"))
    for row, line in changed.items():
        lines[row + first_line(place) - 1] = line
    return "".join(f"{line}\n" for line in lines).encode()


def good(place: Place, but: Sequence[int] = ()) -> dict[str, float | None]:
    """The rows of the new version, some left out."""
    return {name: number for n, (name, number) in enumerate(place.rows("new").items()) if n not in but}


def line_of(place: Place, row: int, number: str | None = None, name: str | None = None) -> str:
    """A row's line, with another number or name."""
    own, value = list(place.rows("new").items())[row]
    return place.text_of(own if name is None else name, value if number is None else number)


def whole(place: Place) -> Told:
    return place.text(place.rows("new")), [Taken(good(place))]


def always(data: bytes, *ways: Way) -> Callable[[Place], Told]:
    """The same bytes wherever."""
    return lambda _: (data, ways or REFUSED)


def text_of(place: Place) -> bytes:
    return place.text(place.rows("new"))


def rewritten(change: Callable[[bytes], bytes], *ways: Way) -> Callable[[Place], Told]:
    """A change to the whole text that takes nothing away, unless ways are given."""
    return lambda place: (change(text_of(place)), ways or [Taken(good(place))])


def header_changed(change: Callable[[str], str]) -> Callable[[Place], Told]:
    def make(place: Place) -> Told:
        return place.text(place.rows("new")).replace(
            place.header.encode(), change(place.header).encode(), 1
        ), REFUSED

    return make


def number_is(text: str, *kept: float | None) -> Callable[[Place], Told]:
    """One row's number is another text: it is rejected, or stands for one of the `kept`."""

    def make(place: Place) -> Told:
        name = place.names("new")[5]
        ways: list[Way] = [Taken(good(place) | {name: number}) for number in kept]
        rejected = Taken(good(place, [5]), rejected=1)
        return with_lines(place, {5: line_of(place, 5, text)}), ways or [rejected]

    return make


def bad_rows(count: int, of: int = ROW_COUNT) -> Callable[[Place], Told]:
    """So many rows, evenly spread, have no number; more than a tenth of bad ones is refused."""

    def make(place: Place) -> Told:
        rows = place.rows("new", of)
        bad = {n * of // count for n in range(count)}
        lines = place.lines({})
        lines += [
            place.text_of(name, "x" if n in bad else number) for n, (name, number) in enumerate(rows.items())
        ]
        ways: tuple[Way, ...] = REFUSED
        if count * 10 <= of:
            ways = (Taken({name: rows[name] for n, name in enumerate(rows) if n not in bad}, count),)
        elif count < of:
            ways = (Refused(min(bad) + first_line(place)),)
        return "".join(f"{line}\n" for line in lines).encode(), ways

    return make


def one_line(change: Callable[[str], str], *ways: Way) -> Callable[[Place], Told]:
    """One row's line is spoilt: it is rejected."""

    def make(place: Place) -> Told:
        spoilt = with_lines(place, {7: change(line_of(place, 7))})
        return spoilt, ways or [Taken(good(place, [7]), rejected=1)]

    return make


def one_byte(old: bytes, new: bytes) -> Callable[[Place], Told]:
    """A byte in the name of a row is none: the row is rejected."""

    def make(place: Place) -> Told:
        return text_of(place).replace(old, new, 1), [Taken(good(place, [8]), rejected=1)]

    return make


def nul_in_a_name(place: Place) -> Told:
    name = place.names("new")[8]
    kept = {key if key != name else f"{name}\0": number for key, number in place.rows("new").items()}
    data = text_of(place).replace(f"{name},".encode(), f"{name}\0,".encode(), 1)
    return data, [Taken(kept), Taken(good(place, [8]), rejected=1)]


def cut_at(share: float) -> Callable[[Place], Told]:
    """Cut off in the middle of a line: what is left is said to be less, and the last line is no row."""

    def make(place: Place) -> Told:
        data = text_of(place)
        head = data[: int(len(data) * share)].rstrip(b"\n")
        # In the middle of a line, wherever the share falls.
        head = head[:-1] if data[len(head) : len(head) + 1] == b"\n" else head
        left = head.count(b"\n") - (first_line(place) - 1)
        kept = dict(list(place.rows("new").items())[:left])
        return head, [Refused(), Taken(kept, rejected=1, said=True)]

    return make


def cut_in_the_last_number(place: Place) -> Told:
    data = text_of(place)[:-3]
    kept = good(place, [ROW_COUNT - 1])
    last = place.names("new")[-1]
    wrong = kept | {last: float(int(list(place.rows("new").values())[-1] or 0) // 100)}
    return data, [Refused(), Taken(kept, rejected=1), Taken(wrong, said=True)]


def no_last_newline(place: Place) -> Told:
    return text_of(place)[:-1], [
        Taken(good(place), said=True),
        Taken(good(place, [ROW_COUNT - 1]), rejected=1),
        Refused(),
    ]


def far_fewer(count: int) -> Callable[[Place], Told]:
    """Whole lines, but few of them."""

    def make(place: Place) -> Told:
        rows = place.rows("new", count)
        return place.text(rows), [Refused(), Taken(rows, said=True)]

    return make


def header_only(place: Place) -> Told:
    return f"{place.header}\n".encode(), [Refused(), Taken(place.rows("old"), said=True)]


def stray_quotes(place: Place) -> Told:
    """Before two numbers, twenty lines apart."""
    bad = (20, 40)
    lines = {row: line_of(place, row, f'"{12345 + row}') for row in bad}
    return with_lines(place, lines), [Taken(good(place, bad), rejected=2), Refused()]


def stray_quotes_in_names(place: Place) -> Told:
    bad = (20, 40)
    lines = {row: line_of(place, row, name=f'"{place.names("new")[row]}') for row in bad}
    return with_lines(place, lines), [Taken(good(place, bad), rejected=2), Refused()]


def quote_opened_last(place: Place) -> Told:
    lines = {ROW_COUNT - 1: line_of(place, ROW_COUNT - 1, '"12')}
    return with_lines(place, lines), [Refused(), Taken(good(place, [ROW_COUNT - 1]), rejected=1)]


def quoted_over_lines(place: Place) -> Told:
    """A name with the end of a line in it, properly quoted: no table has one."""
    lines = {20: line_of(place, 20, name='"a\nb"')}
    kept = good(place, [20])
    return with_lines(place, lines), [Taken(kept, rejected=2), Taken(kept, rejected=1), Refused()]


def every_field_quoted(place: Place) -> Told:
    lines = [
        ",".join(f'"{f}"' if f else "" for f in line.split(",")) for line in place.lines(place.rows("new"))
    ]
    return "".join(f"{line}\n" for line in lines).encode(), [Taken(good(place))]


def turned_around(place: Place) -> Told:
    """The columns in another order."""
    lines = [",".join(line.split(",")[::-1]) for line in place.lines(place.rows("new"))]
    return "".join(f"{line}\n" for line in lines).encode(), [Taken(good(place))]


def without_first_column(place: Place) -> Told:
    lines = [line.split(",", 1)[1] for line in place.lines(place.rows("new"))]
    return "".join(f"{line}\n" for line in lines).encode(), REFUSED


def with_extra_column(place: Place) -> Told:
    lines = [f"{line},more" for line in place.lines(place.rows("new"))]
    return "".join(f"{line}\n" for line in lines).encode(), REFUSED


def header_again(place: Place) -> Told:
    lines = place.lines(place.rows("new"))
    lines.insert(30, place.header)
    return "".join(f"{line}\n" for line in lines).encode(), [Taken(good(place), rejected=1)]


def blank_lines(place: Place) -> Told:
    return text_of(place).replace(b"\n", b"\n\n\n"), [Taken(good(place))]


def mixed_line_ends(place: Place) -> Told:
    ends = ("\n", "\r\n", "\r")
    lines = place.lines(place.rows("new"))
    # A newline last, so that the file is whole.
    return "".join(line + ends[-1 - n % 3] for n, line in enumerate(lines)).encode() + b"\n", [
        Taken(good(place))
    ]


def zeros_inside(place: Place) -> Told:
    """A page of the disk that was never written: ten lines are zeros, and their ends with them."""
    data = text_of(place)
    lines = data.splitlines(keepends=True)
    start, end = len(b"".join(lines[:30])) + 2, len(b"".join(lines[:34])) + 2
    lost = [n - first_line(place) + 1 for n in range(30, 35)]
    spoilt = data[:start] + bytes(end - start) + data[end:]
    # The five lines are now one.
    return spoilt, [Taken(good(place, lost), rejected=1), Refused()]


def zeros_behind(place: Place) -> Told:
    return text_of(place) + bytes(512), [
        Taken(good(place), rejected=1),
        Taken(good(place), said=True),
        Refused(),
    ]


def garbage_behind(place: Place) -> Told:
    return text_of(place) + b"\x93\x17\xfe", [Taken(good(place), rejected=1), Refused()]


def end_of_file_sign(place: Place) -> Told:
    return text_of(place) + b"\x1a\n", [Taken(good(place), rejected=1)]


def huge_name(length: int) -> Callable[[Place], Told]:
    def make(place: Place) -> Told:
        name = "n" * length
        own = place.names("new")[9]
        kept = {name if key == own else key: number for key, number in place.rows("new").items()}
        changed = with_lines(place, {9: line_of(place, 9, name=name)})
        return changed, [Taken(kept), Taken(good(place, [9]), rejected=1), Refused(9 + first_line(place))]

    return make


def time_is(text: str) -> Callable[[Place], Told]:
    """A job's submission is no time of any cluster: its row is rejected."""

    def make(place: Place) -> Told:
        line = line_of(place, 5).split(",")
        line[7] = text
        return with_lines(place, {5: ",".join(line)}), [Taken(good(place, [5]), rejected=1)]

    return make


def wide_time_is(text: str) -> Callable[[Place], Told]:
    return lambda place: (
        with_lines(place, {5: line_of(place, 5, name=text)}),
        [Taken(good(place, [5]), rejected=1)],
    )


def has_header(place: Place) -> bool:
    return place.published_header


def has_names(place: Place) -> bool:
    return not place.is_wide


def has_narrow_header(place: Place) -> bool:
    return has_header(place) and has_names(place)


def is_integer(place: Place) -> bool:
    return place.table in ("openb.pod", "zeus.train")


def is_float(place: Place) -> bool:
    return not is_integer(place)


def is_job_trace(place: Place) -> bool:
    return place.table == "acme.job_trace"


def is_wide(place: Place) -> bool:
    return place.is_wide


def has_no_word_for_null(place: Place) -> bool:
    return place.table != "zeus.train"


TEXTS = (
    Damage("good", whole),
    Damage("empty", always(b"")),
    Damage("blank lines alone", always(b"\n\r\n\n\n")),
    Damage("spaces alone", always(b"      \n   \n")),
    Damage("header alone", header_only, has_header),
    Damage("another header", always(b"a,b,c\n1,2,3\n"), has_header),
    Damage("header in capitals", header_changed(str.upper), has_header),
    Damage("header with a column twice", header_changed(lambda h: h + "," + h.split(",")[-1]), has_header),
    Damage("header without a column", header_changed(lambda h: h.split(",", 1)[1]), has_narrow_header),
    Damage("header with one more column", header_changed(lambda h: h + ",more"), has_narrow_header),
    Damage("header with a space", header_changed(lambda h: " " + h), has_header),
    Damage("no header", rewritten(lambda text: text.split(b"\n", 1)[1], Refused()), has_header),
    Damage("a column missing", without_first_column, has_names),
    Damage("a column too many", with_extra_column, has_names),
    Damage("columns in another order", turned_around, has_narrow_header),
    Damage("a field too many in a row", one_line(lambda line: line + ",1")),
    Damage("a field missing in a row", one_line(lambda line: line.rsplit(",", 1)[0])),
    Damage("a comma behind every row", rewritten(lambda t: t.replace(b"\n", b",\n"), Refused())),
    Damage("semicolons", rewritten(lambda text: text.replace(b",", b";"), Refused())),
    Damage("tabs", rewritten(lambda text: text.replace(b",", b"\t"), Refused())),
    Damage("header in the middle", header_again, has_header),
    Damage("Git LFS pointer", always(LFS_POINTER)),
    Damage("web page", always(b"<!DOCTYPE html>\n<html><body>404</body></html>\n")),
    Damage("web page behind blank lines", always(b"\n\n  <html><body>Rate limited</body></html>\n")),
    Damage("XML error", always(b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>\n')),
    Damage("JSON error", always(b'{"message": "Not Found", "status": "404"}\n')),
    Damage("sentence", always(b"Too many requests, please try again later\n")),
    Damage("random bytes", always(bytes((n * n * 31 + 7 * n) % 256 for n in range(4000)))),
    Damage("commas alone", always(b",,,,,,\n" * 50)),
    Damage("cut at a tenth", cut_at(0.1)),
    Damage("cut in the middle", cut_at(0.5)),
    Damage("cut near the end", cut_at(0.97)),
    Damage("cut in the last number", cut_in_the_last_number),
    Damage("no newline last", no_last_newline),
    Damage("garbage behind", garbage_behind),
    Damage("zeros behind", zeros_behind),
    Damage("zeros inside", zeros_inside),
    Damage("end-of-file sign", end_of_file_sign),
    Damage("two stray quotes before numbers", stray_quotes),
    Damage("two stray quotes before names", stray_quotes_in_names, has_names),
    Damage("a quote opened in the last row", quote_opened_last),
    Damage("a name over two lines", quoted_over_lines, has_names),
    Damage("every field quoted", every_field_quoted),
    Damage("carriage returns alone", rewritten(lambda text: text.replace(b"\n", b"\r"))),
    Damage("carriage returns and newlines", rewritten(lambda text: text.replace(b"\n", b"\r\n"))),
    Damage("mixed ends of lines", mixed_line_ends),
    Damage("blank lines between", blank_lines),
    Damage("NUL in a name", nul_in_a_name, has_names),
    Damage("NUL in a number", number_is("12\0")),
    Damage("UTF-8 with a mark", rewritten(lambda text: b"\xef\xbb\xbf" + text)),
    Damage("UTF-16", rewritten(lambda text: text.decode().encode("utf-16"), Refused())),
    Damage("UTF-32", rewritten(lambda text: text.decode().encode("utf-32"), Refused())),
    Damage("Latin-1 in a name", one_byte(b"new8,", b"new\xe98,"), has_names),
    Damage("half a UTF-8 character", one_byte(b"new8,", b"new8\xc3,"), has_names),
    Damage("name of a megabyte", huge_name(1 << 20), has_names),
    Damage("nan", number_is("nan"), has_no_word_for_null),
    Damage("NaN", number_is("NaN"), has_no_word_for_null),
    Damage("-nan", number_is("-nan")),
    Damage("inf", number_is("inf")),
    Damage("-Infinity", number_is("-Infinity")),
    Damage("1e400", number_is("1e400")),
    Damage("0x10", number_is("0x10")),
    Damage("1_000", number_is("1_000")),
    Damage("12abc", number_is("12abc")),
    Damage("two dots", number_is("1.2.3")),
    Damage("two signs", number_is("--5")),
    Damage("a word", number_is("true")),
    Damage("a decimal comma", number_is('"1,5"')),
    Damage("digits of another script", number_is("１２")),
    Damage("an empty number", number_is("", None)),
    Damage("1e-400 in an integer", number_is("1e-400"), is_integer),
    Damage("1.5 in an integer", number_is("1.5"), is_integer),
    Damage("1e5 in an integer", number_is("1e5", 1e5), is_integer),
    Damage("2 to the 63rd in an integer", number_is("9223372036854775808"), is_integer),
    Damage("thirty digits in an integer", number_is("1" * 30), is_integer),
    Damage("a tenth of the rows bad", bad_rows(A_TENTH)),
    Damage("over a tenth of the rows bad", bad_rows(A_TENTH + 1)),
    Damage("half of the rows bad", bad_rows(ROW_COUNT // 2)),
    Damage("all rows bad", bad_rows(ROW_COUNT)),
    Damage("1,000 of 1,001 rows bad", bad_rows(1000, 1001)),
    Damage("a tenth of the rows left", far_fewer(A_TENTH)),
    Damage("one row left", far_fewer(1)),
    *(
        Damage(f"a submission at {text}", time_is(text), is_job_trace)
        for text in (
            *("0000-01-01 00:00:00+00:00", "infinity", "99999-01-01 00:00:00+00:00"),
            *("2023-02-30 00:00:00+08:00", "2023-03-01 25:00:00+08:00", "290000-12-31 00:00:00+00:00"),
        )
    ),
    *(
        Damage(f"a sample at {text}", wide_time_is(text), is_wide)
        for text in ("", "infinity", "0000-01-01 00:00:00+00:00", "2023-02-30 00:00:00+00:00", "12")
    ),
    Damage(
        "a time twice",
        lambda p: (
            text_of(p) + f"{p.text_of(p.names('new')[3], 7.0)}\n".encode(),
            [Taken(good(p), rejected=1)],
        ),
        is_wide,
    ),
)

TEXT_FORMS = {
    "csv": (*NARROW, *ARCHIVED),
    "csv.gz": (*NARROW, *ARCHIVED),
    "csv.xz": (*NARROW, *ARCHIVED),
    "tar.gz": ARCHIVED,
    "parts": ARCHIVED,
    "wide csv": WIDE,
    "wide csv.gz": WIDE,
}
"""Every damage to a text is done in each of these forms, where it fits a place."""
EVERY_OTHER = frozenset({"csv.xz", "parts"})
"""Which are read as others are, once unpacked: in them, every other damage."""

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


def text_cases() -> Iterator[Case]:
    """Every damage in every form that it fits."""
    for form_name, places in TEXT_FORMS.items():
        for damage in TEXTS[:: 2 if form_name in EVERY_OTHER else 1]:
            fitting = [place for place in places if damage.fits(place)]
            if fitting:
                form = FORMS[form_name.removeprefix("wide ")]
                yield Case(f"text in {form_name}: {damage.name}", fitting, form.ending, _packed(form, damage))


def _packed(form: Form, damage: Damage) -> Callable[[Place], Packed]:
    def make(place: Place) -> Packed:
        text, ways = damage.make(place)
        return form.pieces(place, text), ways

    return make


def other_packing_cases() -> Iterator[Case]:
    """Packings that no publisher uses: read, and never half."""
    for form_name, places in OTHER_PACKINGS.items():
        form = FORMS[form_name]
        for name, change in (
            ("good", None),
            ("cut in the middle", lambda data: data[: len(data) // 2]),
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
        if form.ending == ".CSV" and change(b"ab") == b"a":
            _, ways = cut_at(0.5)(place)
            return {"": cut_at(0.5)(place)[0]}, ways
        return pieces | {last: change(pieces[last])}, ways

    return make


def packed_cases() -> Iterator[Case]:
    """Damage to compressed bytes, whatever is in them."""
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
    import zlib

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


def tar_cases() -> Iterator[Case]:
    """Archives whose gzip is whole, and whose tar is not."""
    for name, damage in TARS.items():

        def make(place: Place, damage: Callable[[Place], tuple[bytes, Sequence[Way]]] = damage) -> Packed:
            archive, ways = damage(place)
            return {"": gz(archive)}, ways

        yield Case(f"tar inside: {name}", ARCHIVED, ".tar.gz", make)


def one_member(place: Place) -> bytes:
    return tar([(f"{place.stem}.csv", text_of(place))])


def tar_header(archive: bytes, at: int, field: bytes, offset: int, with_checksum: bool = True) -> bytes:
    """An archive whose header at `at` has another field, and a checksum that fits, if wanted."""
    header = bytearray(archive[at : at + 512])
    header[offset : offset + len(field)] = field
    if with_checksum:
        header[148:156] = b" " * 8
        header[148:156] = b"%06o\0 " % sum(header)
    return archive[:at] + bytes(header) + archive[at + 512 :]


def in_header(field: bytes, offset: int, with_checksum: bool = True, *ways: Way) -> Callable:
    return lambda place: (tar_header(one_member(place), 0, field, offset, with_checksum), ways or REFUSED)


def special_member(kind: bytes, target: str = "") -> Callable:
    """The table's CSV is no file but a link, a device or a folder."""

    def make(place: Place) -> tuple[bytes, Sequence[Way]]:
        import io

        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            info = tarfile.TarInfo(f"{place.stem}.csv")
            info.type = kind
            info.linkname = target
            archive.addfile(info)
        return packed.getvalue(), REFUSED

    return make


def member_called(name: str) -> Callable:
    """The CSV in another folder of the archive: nothing is unpacked, so that it does no harm."""
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
    "without its end": lambda place: (_without_end(one_member(place)), REFUSED),
    "half of its end": lambda place: (
        _without_end(one_member(place)) + bytes(BLOCK),
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
        # Its header and its end stand in lines of their own, with the first row and behind the last.
        [Refused(), Taken(good(place, [0]), rejected=2)],
    ),
    "the CSV twice": lambda place: (tar([(f"{place.stem}.csv", text_of(place))] * 2), REFUSED),
    "the CSV twice, in two folders": lambda place: (
        tar([(f"a/{place.stem}.csv", text_of(place)), (f"b/{place.stem}.csv", text_of(place))]),
        REFUSED,
    ),
    "a file of macOS beside": lambda place: (
        tar([(f"._{place.stem}.csv", b"\0\x05\x16\x07"), (f"{place.stem}.csv", text_of(place))]),
        [Taken(good(place))],
    ),
    "other files beside": lambda place: (
        tar([("README", b"x"), (f"{place.stem}.csv", text_of(place)), ("LICENSE", b"y")]),
        [Taken(good(place))],
    ),
    "a CSV of no table beside": lambda place: (
        tar([(f"{place.stem}.csv", text_of(place)), ("extra.csv", b"a\n1\n")]),
        [Taken(good(place), said=True), Refused()],
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
    "in a folder": member_called("data/2020/{stem}.csv"),
    "in the folder above": member_called("../../{stem}.csv"),
    "with an absolute path": member_called("/tmp/{stem}.csv"),
    "in a folder with odd bytes": member_called("d\udcff/{stem}.csv"),
    "a symbolic link": special_member(tarfile.SYMTYPE, "/etc/passwd"),
    "a hard link": special_member(tarfile.LNKTYPE, "/etc/passwd"),
    "a device": special_member(tarfile.CHRTYPE),
    "a FIFO": special_member(tarfile.FIFOTYPE),
    "a folder": special_member(tarfile.DIRTYPE),
    "a negative size": in_header(b"\xff" * 12, SIZE),
    "a size of -1 in octal": in_header(b"-0000000001\0", SIZE),
    "a size of exabytes": in_header(b"\x80" + bytes(3) + b"\x10" + bytes(7), SIZE),
    "the largest octal size": in_header(b"777777777777", SIZE),
    "no size": in_header(b"\0" * 12, SIZE),
    "a size that is a word": in_header(b"hello world\0", SIZE),
    "a size one less": lambda place: (
        tar_header(one_member(place), 0, size_of(place, -1), SIZE),
        # The last newline is then cut off.
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
    "a checksum that is wrong": in_header(b"0000000\0", CHECKSUM, False),
    "a checksum that is a word": in_header(b"checksum", CHECKSUM, False),
    "a name that is another": in_header(b"other_table.csv", NAME),
    "a header of 0xff": lambda place: (b"\xff" * BLOCK + one_member(place)[BLOCK:], REFUSED),
    "an unknown type": in_header(b"Q", TYPE, True, Refused()),
    "a sparse file": in_header(b"S", TYPE, True, Refused()),
    "a damaged header behind": lambda place: (
        tar_header(
            tar([("a.txt", b"x"), (f"{place.stem}.csv", text_of(place))]), 2 * BLOCK, b"\xff\xff", NAME, False
        ),
        REFUSED,
    ),
    "a PAX header with a wrong size": lambda place: (
        _pax(place, {"size": "10"}),
        [Refused()],
    ),
    "a PAX header with a negative size": lambda place: (_pax(place, {"size": "-5"}), REFUSED),
    "a PAX header with a size that is a word": lambda place: (_pax(place, {"size": "big"}), REFUSED),
    "a PAX header that is damaged": lambda place: (
        _pax(place, {"comment": "c" * 20}).replace(b" comment=", b"xcomment=", 1),
        [Refused(), Taken(good(place))],
    ),
}


def _without_end(archive: bytes) -> bytes:
    """Without the blocks of zeros that end an archive."""
    return archive.rstrip(b"\0") + bytes(-len(archive.rstrip(b"\0")) % BLOCK)


def _pax(place: Place, headers: dict[str, str]) -> bytes:
    import io

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo(f"{place.stem}.csv")
        info.size = len(text_of(place))
        info.pax_headers = headers
        archive.addfile(info, io.BytesIO(text_of(place)))
    return packed.getvalue()


def part_cases() -> Iterator[Case]:
    """Archives in parts, one of which is not as it should be."""
    for name, change in PARTS.items():

        def make(place: Place, change: Callable[[Place, dict[str, bytes]], Packed] = change) -> Packed:
            return change(place, in_parts(place, text_of(place)))

        yield Case(f"parts: {name}", ARCHIVED, ".tar.gz", make)


def only(*names: str) -> Callable[[Place, dict[str, bytes]], Packed]:
    return lambda place, parts: ({name: parts[name] for name in names}, REFUSED)


def old_archive(place: Place) -> bytes:
    return gz(tar([(f"{place.stem}.csv", place.text(place.rows("old")))]))


AA, AB, AC = ".partaa", ".partab", ".partac"
PARTS: dict[str, Callable[[Place, dict[str, bytes]], Packed]] = {
    "the first is missing": only(AB, AC),
    "the second is missing": only(AA, AC),
    "the last is missing": only(AA, AB),
    "the first alone": only(AA),
    "the last alone": only(AC),
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
    "beside the whole": lambda place, parts: (parts | {"": b"".join(parts.values())}, [Taken(good(place))]),
    "beside another whole": lambda place, parts: (parts | {"": old_archive(place)}, REFUSED),
    "beside a whole that is a pointer": lambda place, parts: (
        parts | {"": LFS_POINTER},
        [Refused(), Taken(good(place), said=True)],
    ),
    "numbered, from 01": lambda place, parts: (
        {f".part{n:02d}": part for n, part in enumerate(parts.values(), 1)},
        [Taken(good(place)), Refused()],
    ),
    "numbered, one missing": lambda place, parts: ({".part1": parts[AA], ".part3": parts[AC]}, REFUSED),
}


def all_cases() -> list[Case]:
    """Every case that one damaged file makes."""
    cases = [
        *chain(
            tar_cases(),
            part_cases(),
            text_cases(),
            packed_cases(),
            members_cases(),
            other_packing_cases(),
        )
    ]
    assert len({case.name for case in cases}) == len(cases)
    return cases


def rounds(cases: Sequence[Case]) -> list[list[tuple[Case, Place]]]:
    """The cases, dealt out so that each round has at most one for any place."""
    dealt: list[list[tuple[Case, Place]]] = []
    for case in cases:
        for of_round in dealt:
            taken = {place for _, place in of_round}
            free = next((place for place in case.places if place not in taken), None)
            if free:
                of_round.append((case, free))
                break
        else:
            dealt.append([(case, case.places[0])])
    return dealt
