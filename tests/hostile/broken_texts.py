"""Damage to the text of a CSV, independent of its compression."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hostile.cases import LFS_POINTER, REFUSED, Damaged
from hostile.dumps import ROW_COUNT, Place
from hostile.expectations import Refused, Taken, Way

A_TENTH = ROW_COUNT // 10


@dataclass(frozen=True)
class Damage:
    """A change of a CSV's text. `fits` returns whether the change applies to the file of a place."""

    name: str
    make: Callable[[Place], Damaged]
    fits: Callable[[Place], bool] = lambda _: True


def first_line(place: Place) -> int:
    """Return the number of the line that has the first row."""
    return 2 if place.published_header else 1


def with_lines(place: Place, changed: dict[int, str]) -> bytes:
    """Return the text of the new version with some lines replaced. `changed` maps row numbers to lines."""
    lines = place.lines(place.rows("new"))
    for row, line in changed.items():
        lines[row + first_line(place) - 1] = line
    return "".join(f"{line}\n" for line in lines).encode()


def good(place: Place, but: Sequence[int] = ()) -> dict[str, float | None]:
    """Return the rows of the new version, except those with the numbers in `but`."""
    return {name: number for n, (name, number) in enumerate(place.rows("new").items()) if n not in but}


def line_of(place: Place, row: int, number: str | None = None, name: str | None = None) -> str:
    """Return the line of a row, with another number or name if given."""
    own, value = list(place.rows("new").items())[row]
    return place.text_of(own if name is None else name, value if number is None else number)


def whole(place: Place) -> Damaged:
    return place.text(place.rows("new")), [Taken(good(place))]


def always(data: bytes, *ways: Way) -> Callable[[Place], Damaged]:
    """Return the same bytes for every place."""
    return lambda _: (data, ways or REFUSED)


def text_of(place: Place) -> bytes:
    return place.text(place.rows("new"))


def change_text(change: Callable[[bytes], bytes], *ways: Way) -> Callable[[Place], Damaged]:
    """Change the whole text. By default, ingest must keep all rows."""
    return lambda place: (change(text_of(place)), ways or [Taken(good(place))])


def change_header(change: Callable[[str], str]) -> Callable[[Place], Damaged]:
    def make(place: Place) -> Damaged:
        return place.text(place.rows("new")).replace(
            place.header.encode(), change(place.header).encode(), 1
        ), REFUSED

    return make


def replace_number(text: str, *kept: float | None) -> Callable[[Place], Damaged]:
    """Replace the number of a row with a text. Ingest rejects the row, or reads one of the `kept` numbers."""

    def make(place: Place) -> Damaged:
        name = place.names("new")[5]
        ways: list[Way] = [Taken(good(place) | {name: number}) for number in kept]
        rejected = Taken(good(place, [5]), rejected=1)
        return with_lines(place, {5: line_of(place, 5, text)}), ways or [rejected]

    return make


def bad_rows(count: int, of: int = ROW_COUNT) -> Callable[[Place], Damaged]:
    """Replace the numbers of `count` rows with `x`. With more than a tenth bad rows, the file is refused."""

    def make(place: Place) -> Damaged:
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


def one_line(change: Callable[[str], str], *ways: Way) -> Callable[[Place], Damaged]:
    """Damage the line of one row. Ingest rejects this row only."""

    def make(place: Place) -> Damaged:
        spoilt = with_lines(place, {7: change(line_of(place, 7))})
        return spoilt, ways or [Taken(good(place, [7]), rejected=1)]

    return make


def one_byte(old: bytes, new: bytes) -> Callable[[Place], Damaged]:
    """Replace a byte in the name of a row by one that is not UTF-8. Ingest rejects this row only."""

    def make(place: Place) -> Damaged:
        return text_of(place).replace(old, new, 1), [Taken(good(place, [8]), rejected=1)]

    return make


def nul_in_a_name(place: Place) -> Damaged:
    name = place.names("new")[8]
    data = text_of(place).replace(f"{name},".encode(), f"{name}\0,".encode(), 1)
    return data, [Taken(good(place, [8]), rejected=1)]


def cut_at(share: float) -> Callable[[Place], Damaged]:
    """Truncate in the middle of a line. Ingest refuses the file, or rejects its last line and reports it."""

    def make(place: Place) -> Damaged:
        data = text_of(place)
        head = data[: int(len(data) * share)].rstrip(b"\n")
        # If the cut is at the end of a line, move it into the line.
        head = head[:-1] if data[len(head) : len(head) + 1] == b"\n" else head
        left = head.count(b"\n") - (first_line(place) - 1)
        kept = dict(list(place.rows("new").items())[:left])
        return head, [Refused(), Taken(kept, rejected=1, reported=True)]

    return make


def cut_in_the_last_number(place: Place) -> Damaged:
    data = text_of(place)[:-3]
    kept = good(place, [ROW_COUNT - 1])
    last = place.names("new")[-1]
    wrong = kept | {last: float(int(list(place.rows("new").values())[-1] or 0) // 100)}
    return data, [Refused(), Taken(kept, rejected=1), Taken(wrong, reported=True)]


def no_last_newline(place: Place) -> Damaged:
    return text_of(place)[:-1], [
        Taken(good(place), reported=True),
        Taken(good(place, [ROW_COUNT - 1]), rejected=1),
        Refused(),
    ]


def far_fewer(count: int) -> Callable[[Place], Damaged]:
    """Write a valid file with this many rows, far fewer than before."""

    def make(place: Place) -> Damaged:
        rows = place.rows("new", count)
        return place.text(rows), [Refused(), Taken(rows, reported=True)]

    return make


def header_only(place: Place) -> Damaged:
    return f"{place.header}\n".encode(), [Refused(), Taken(place.rows("old"), reported=True)]


def stray_quotes(place: Place) -> Damaged:
    """Put a quote before the numbers of two rows that are twenty lines apart."""
    bad = (20, 40)
    lines = {row: line_of(place, row, f'"{12345 + row}') for row in bad}
    return with_lines(place, lines), [Taken(good(place, bad), rejected=2), Refused()]


def stray_quotes_in_names(place: Place) -> Damaged:
    bad = (20, 40)
    lines = {row: line_of(place, row, name=f'"{place.names("new")[row]}') for row in bad}
    return with_lines(place, lines), [Taken(good(place, bad), rejected=2), Refused()]


def quote_opened_last(place: Place) -> Damaged:
    lines = {ROW_COUNT - 1: line_of(place, ROW_COUNT - 1, '"12')}
    return with_lines(place, lines), [Refused(), Taken(good(place, [ROW_COUNT - 1]), rejected=1)]


def quoted_over_lines(place: Place) -> Damaged:
    """Put a newline into a quoted name. CSV allows it, but no table has such names."""
    lines = {20: line_of(place, 20, name='"a\nb"')}
    kept = good(place, [20])
    return with_lines(place, lines), [Taken(kept, rejected=2), Taken(kept, rejected=1), Refused()]


def every_field_quoted(place: Place) -> Damaged:
    lines = [
        ",".join(f'"{f}"' if f else "" for f in line.split(",")) for line in place.lines(place.rows("new"))
    ]
    return "".join(f"{line}\n" for line in lines).encode(), [Taken(good(place))]


def reversed_columns(place: Place) -> Damaged:
    """Reverse the order of the columns."""
    lines = [",".join(line.split(",")[::-1]) for line in place.lines(place.rows("new"))]
    return "".join(f"{line}\n" for line in lines).encode(), [Taken(good(place))]


def without_first_column(place: Place) -> Damaged:
    lines = [line.split(",", 1)[1] for line in place.lines(place.rows("new"))]
    return "".join(f"{line}\n" for line in lines).encode(), REFUSED


def with_extra_column(place: Place) -> Damaged:
    lines = [f"{line},more" for line in place.lines(place.rows("new"))]
    return "".join(f"{line}\n" for line in lines).encode(), REFUSED


def header_again(place: Place) -> Damaged:
    lines = place.lines(place.rows("new"))
    lines.insert(30, place.header)
    return "".join(f"{line}\n" for line in lines).encode(), [Taken(good(place), rejected=1)]


def blank_lines(place: Place) -> Damaged:
    return text_of(place).replace(b"\n", b"\n\n\n"), [Taken(good(place))]


def mixed_line_ends(place: Place) -> Damaged:
    ends = ("\n", "\r\n", "\r")
    lines = place.lines(place.rows("new"))
    # The file ends in a newline, so that its last line is complete.
    return "".join(line + ends[-1 - n % 3] for n, line in enumerate(lines)).encode() + b"\n", [
        Taken(good(place))
    ]


def zeros_inside(place: Place) -> Damaged:
    """Replace the text from line 31 to line 35 by zeros, as a disk page that was never written."""
    data = text_of(place)
    lines = data.splitlines(keepends=True)
    start, end = len(b"".join(lines[:30])) + 2, len(b"".join(lines[:34])) + 2
    lost = [n - first_line(place) + 1 for n in range(30, 35)]
    spoilt = data[:start] + bytes(end - start) + data[end:]
    # The zeros join the five lines into one.
    return spoilt, [Taken(good(place, lost), rejected=1), Refused()]


def zeros_behind(place: Place) -> Damaged:
    return text_of(place) + bytes(512), [
        Taken(good(place), rejected=1),
        Taken(good(place), reported=True),
        Refused(),
    ]


def garbage_behind(place: Place) -> Damaged:
    return text_of(place) + b"\x93\x17\xfe", [Taken(good(place), rejected=1), Refused()]


def end_of_file_sign(place: Place) -> Damaged:
    return text_of(place) + b"\x1a\n", [Taken(good(place), rejected=1)]


def huge_name(length: int) -> Callable[[Place], Damaged]:
    def make(place: Place) -> Damaged:
        name = "n" * length
        own = place.names("new")[9]
        kept = {name if key == own else key: number for key, number in place.rows("new").items()}
        changed = with_lines(place, {9: line_of(place, 9, name=name)})
        return changed, [Taken(kept), Taken(good(place, [9]), rejected=1), Refused(9 + first_line(place))]

    return make


def replace_time(text: str) -> Callable[[Place], Damaged]:
    """Put a job's submission time out of range. Ingest rejects its row."""

    def make(place: Place) -> Damaged:
        line = line_of(place, 5).split(",")
        line[7] = text
        return with_lines(place, {5: ",".join(line)}), [Taken(good(place, [5]), rejected=1)]

    return make


def replace_wide_time(text: str) -> Callable[[Place], Damaged]:
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
    Damage("header in capitals", change_header(str.upper), has_header),
    Damage("header with a column twice", change_header(lambda h: h + "," + h.split(",")[-1]), has_header),
    Damage("header without a column", change_header(lambda h: h.split(",", 1)[1]), has_narrow_header),
    Damage("header with one more column", change_header(lambda h: h + ",more"), has_narrow_header),
    Damage("header with a space", change_header(lambda h: " " + h), has_header),
    Damage("no header", change_text(lambda text: text.split(b"\n", 1)[1], Refused()), has_header),
    Damage("a column missing", without_first_column, has_names),
    Damage("a column too many", with_extra_column, has_names),
    Damage("columns in another order", reversed_columns, has_narrow_header),
    Damage("a field too many in a row", one_line(lambda line: line + ",1")),
    Damage("a field missing in a row", one_line(lambda line: line.rsplit(",", 1)[0])),
    Damage("a comma behind every row", change_text(lambda t: t.replace(b"\n", b",\n"), Refused())),
    Damage("semicolons", change_text(lambda text: text.replace(b",", b";"), Refused())),
    Damage("tabs", change_text(lambda text: text.replace(b",", b"\t"), Refused())),
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
    Damage("carriage returns alone", change_text(lambda text: text.replace(b"\n", b"\r"))),
    Damage("carriage returns and newlines", change_text(lambda text: text.replace(b"\n", b"\r\n"))),
    Damage("mixed ends of lines", mixed_line_ends),
    Damage("blank lines between", blank_lines),
    Damage("NUL in a name", nul_in_a_name, has_names),
    Damage("NUL in a number", replace_number("12\0")),
    Damage("UTF-8 with a mark", change_text(lambda text: b"\xef\xbb\xbf" + text)),
    Damage("UTF-16", change_text(lambda text: text.decode().encode("utf-16"), Refused())),
    Damage("UTF-32", change_text(lambda text: text.decode().encode("utf-32"), Refused())),
    Damage("Latin-1 in a name", one_byte(b"new8,", b"new\xe98,"), has_names),
    Damage("half a UTF-8 character", one_byte(b"new8,", b"new8\xc3,"), has_names),
    Damage("name of a megabyte", huge_name(1 << 20), has_names),
    Damage("nan", replace_number("nan"), has_no_word_for_null),
    Damage("NaN", replace_number("NaN"), has_no_word_for_null),
    Damage("-nan", replace_number("-nan")),
    Damage("inf", replace_number("inf")),
    Damage("-Infinity", replace_number("-Infinity")),
    Damage("1e400", replace_number("1e400")),
    Damage("0x10", replace_number("0x10")),
    Damage("1_000", replace_number("1_000")),
    Damage("12abc", replace_number("12abc")),
    Damage("two dots", replace_number("1.2.3")),
    Damage("two signs", replace_number("--5")),
    Damage("a word", replace_number("true")),
    Damage("a decimal comma", replace_number('"1,5"')),
    Damage("digits of another script", replace_number("１２")),
    Damage("an empty number", replace_number("", None)),
    Damage("1e-400 in an integer", replace_number("1e-400"), is_integer),
    Damage("1.5 in an integer", replace_number("1.5"), is_integer),
    Damage("1e5 in an integer", replace_number("1e5", 1e5), is_integer),
    Damage("2 to the 63rd in an integer", replace_number("9223372036854775808"), is_integer),
    Damage("thirty digits in an integer", replace_number("1" * 30), is_integer),
    Damage("a tenth of the rows bad", bad_rows(A_TENTH)),
    Damage("over a tenth of the rows bad", bad_rows(A_TENTH + 1)),
    Damage("half of the rows bad", bad_rows(ROW_COUNT // 2)),
    Damage("all rows bad", bad_rows(ROW_COUNT)),
    Damage("1,000 of 1,001 rows bad", bad_rows(1000, 1001)),
    Damage("a tenth of the rows left", far_fewer(A_TENTH)),
    Damage("one row left", far_fewer(1)),
    *(
        Damage(f"a submission at {text}", replace_time(text), is_job_trace)
        for text in (
            *("0000-01-01 00:00:00+00:00", "infinity", "99999-01-01 00:00:00+00:00"),
            *("2023-02-30 00:00:00+08:00", "2023-03-01 25:00:00+08:00", "290000-12-31 00:00:00+00:00"),
        )
    ),
    *(
        Damage(f"a sample at {text}", replace_wide_time(text), is_wide)
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
