import csv
import io
import math
import random
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction
from typing import BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_seed import DEPTH, SEED

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers import ReaderInput, Reject
from tracehouse.ingest.readers import csv as csv_reader
from tracehouse.ingest.readers.csv import CHUNK_BYTES
from tracehouse.ingest.readers.csv import read_names as read_header

COLUMNS = (
    Column("name", "VARCHAR", "Text"),
    Column("count", "BIGINT", "Integer"),
    Column("share", "DOUBLE", "Float"),
    Column("at", "TIMESTAMPTZ", "Instant"),
)
NAMES = [column.name for column in COLUMNS]
HEADER = ",".join(NAMES)
TIME = "2023-03-01 00:00:00+08:00"
INSTANT = datetime(2023, 2, 28, 16, tzinfo=UTC)
CHUNK_SIZES = (1, 2, 3, 7, 64, CHUNK_BYTES)

FUZZED_ROWS = 20_000 * DEPTH

Row = tuple[object, ...]


def table_of(columns: Sequence[Column] = COLUMNS, **options: object) -> Table:
    options = {"file_name": r"t\.csv", **options}
    return Table(name="t", comment="", grain="", source="", columns=tuple(columns), **options)


TABLE = table_of()
UNENDED = table_of(ends_in_newline=False)
TEXT_COLUMNS = (Column("a", "VARCHAR", "Text"), Column("b", "VARCHAR", "Text"))
TEXTS = table_of(TEXT_COLUMNS, has_header=False, ends_in_newline=False)


def read(
    data: str | bytes, table: Table = TABLE, chunk_bytes: int = CHUNK_BYTES
) -> tuple[list[Row], list[Reject]]:
    stream = io.BytesIO(data.encode() if isinstance(data, str) else data)
    batches = list(csv_reader.read(ReaderInput(stream, table, "t.csv", chunk_bytes=chunk_bytes)))
    assert all(batch.rows.column_names == [column.name for column in table.columns] for batch in batches)
    rows = [tuple(row.values()) for batch in batches for row in batch.rows.to_pylist()]
    return rows, [reject for batch in batches for reject in batch.rejects]


def read_among_good(
    data: str | bytes, table: Table = TABLE, chunk_bytes: int = CHUNK_BYTES
) -> tuple[list[Row], list[Reject]]:
    """Read lines followed by ten times as many valid empty rows, and return the result of the lines."""
    data = data.encode() if isinstance(data, str) else data
    good = 10 * (1 + data.count(b"\n") + data.count(b"\r"))
    rows, rejects = read(data + good * (b"," * (len(table.columns) - 1) + b"\n"), table, chunk_bytes)
    assert rows[-good:] == good * [(None,) * len(table.columns)]
    return rows[:-good], rejects


def refusal(data: str | bytes, table: Table = TABLE, chunk_bytes: int = CHUNK_BYTES) -> RawFileError:
    with pytest.raises(RawFileError) as refused:
        read(data, table, chunk_bytes)
    assert refused.value.file == "t.csv"
    assert str(refused.value).startswith("t.csv")
    assert "\n" not in str(refused.value)
    return refused.value


ROWS = [("a", 1, 0.5, INSTANT), ("b", None, None, None), ("c", -3, -2.0, INSTANT)]
LINES = [HEADER, f"a,1,0.5,{TIME}", "b,,,", f"c,-3,-2,{TIME}"]
FORMS = {
    "unix": "\n".join(LINES) + "\n",
    "windows": "\r\n".join(LINES) + "\r\n",
    "old mac": "\r".join(LINES) + "\r",
    "newlines of several kinds": "\r".join(LINES[:2]) + "\n" + "\r\n".join(LINES[2:]),
    "carriage return twice": "\r\r\n".join(LINES) + "\r\r\n",
    "byte order mark": "\ufeff" + "\n".join(LINES) + "\n",
    "byte order mark and quoted header": '\ufeff"name",' + "\n".join(LINES).removeprefix("name,"),
    "no newline at the end": "\n".join(LINES),
    "no newline at the end, windows": "\r\n".join(LINES),
    "blank lines": "\n\n" + "\n\n".join(LINES) + "\n\n\n",
    "blank lines, windows": "\r\n" + "\r\n\r\n".join(LINES) + "\r\n\r\n",
    "all quoted that is there": "\n".join(LINES).replace("a,1,0.5", '"a","1","0.5"').replace("c,", '"c",'),
}


@pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)
@pytest.mark.parametrize("form", FORMS)
def test_every_csv_dialect_gives_the_same_rows(form: str, chunk_bytes: int) -> None:
    assert read(FORMS[form], UNENDED, chunk_bytes) == (ROWS, [])


@pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_quoted_field_may_contain_anything_except_line_ends(newline: str, chunk_bytes: int) -> None:
    texts = ["comma, comma", 'say ""x""', "", " spaces ", "ünï, çødé", '""', '"",""', "'"]
    data = newline.join(f'"{text}",1,,' for text in texts)
    rows, rejects = read(f"{HEADER}{newline}{data}{newline}", chunk_bytes=chunk_bytes)
    assert [row[0] for row in rows] == [text.replace('""', '"') for text in texts]
    assert rejects == []


MISPLACED = "a quote that is not closed on its line, or that is inside a field"


@pytest.mark.parametrize("chunk_bytes", [7, CHUNK_BYTES])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "line", ['"a,1,,', 'a,1,,"', 'a,"1,,', '5" pipe,1,,', '"a"b,1,,', 'lines",1,,', '"""a"",1,,']
)
def test_misplaced_quote_rejects_only_its_line(line: str, newline: str, chunk_bytes: int) -> None:
    # Two such quotes must not join all lines between them.
    lines = [
        HEADER,
        "before,1,,",
        line,
        *(f"{n},2,," for n in range(98)),
        line,
        "behind,3,,",
        '"all, right",4,,',
    ]
    rows, rejects = read(newline.join(lines) + newline, chunk_bytes=chunk_bytes)
    assert [row[0] for row in rows] == ["before", *map(str, range(98)), "behind", "all, right"]
    assert rejects == [Reject(3, MISPLACED, line), Reject(102, MISPLACED, line)]


def test_rejects_field_of_several_lines() -> None:
    rows, rejects = read_among_good(f'{HEADER}\n"two\nlines",1,,\n"four\n\nmore\n",2,,\n')
    assert rows == []
    assert [(reject.line, reject.raw_text) for reject in rejects] == [
        (2, '"two'),
        (3, 'lines",1,,'),
        (4, '"four'),
        (6, "more"),
        (7, '",2,,'),
    ]


def test_a_lone_quote_does_not_slow_down_a_long_file() -> None:
    # An earlier version took a minute: it went back line by line to find an even number of quotes.
    rows, rejects = read(f'{HEADER}\n5" pipe,1,,\n' + "a,1,,\n" * 200_000, chunk_bytes=1 << 20)
    assert (len(rows), len(rejects)) == (200_000, 1)


@pytest.mark.parametrize("newline", ["", "\n"])
def test_empty_field_is_null_unless_quoted(newline: str) -> None:
    assert read(f'"x",\n,"y"\n"",""\n"z",{newline}', TEXTS)[0] == [
        ("x", None),
        (None, "y"),
        ("", ""),
        ("z", None),
    ]


@pytest.mark.parametrize("lone", [1, 2, 30])
def test_a_lone_comma_is_a_row_that_does_not_fit(lone: int) -> None:
    """Another line has additional commas, so that the total is as in a valid file."""
    table = table_of((Column("a", "VARCHAR", "", required=True), *TEXT_COLUMNS[1:]), ends_in_comma=True)
    lines = ["a,b,", *["x,1,"] * 30]
    lines[lone] = ","
    lines[20] = "x,1,x,"
    rows, rejects = read("".join(f"{line}\n" for line in lines), table)
    assert (len(rows), [reject.line for reject in rejects]) == (28, sorted([lone + 1, 21]))


def test_accepts_other_order_of_columns() -> None:
    assert read(f"at,share,count,name\n{TIME},0.5,1,a\n") == ([("a", 1, 0.5, INSTANT)], [])


def test_column_without_header_name_is_read_by_its_empty_field() -> None:
    table = table_of([Column("row_number", "BIGINT", "", header=""), *COLUMNS[:2]])
    assert read(",name,count\n0,a,1\n1,b,2\n", table) == ([(0, "a", 1), (1, "b", 2)], [])
    assert read("name,,count\na,0,1\n", table) == ([(0, "a", 1)], [])
    assert "the header is row_number,name,count; expected ,name,count" in str(
        refusal("row_number,name,count\n0,a,1\n", table)
    )


def test_missing_optional_columns_are_null() -> None:
    table = table_of(optional=frozenset({"share", "at"}))
    assert read("name,count\na,1\n", table) == ([("a", 1, None, None)], [])
    assert "the header is name,share,at; expected" in str(refusal("name,share,at\na,1,\n", table))


@pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)
@pytest.mark.parametrize("header", ["", f"{HEADER}\n", f"\n{HEADER}\r\n"])
def test_accepts_header_where_publisher_has_none(header: str, chunk_bytes: int) -> None:
    data = header + f"a,1,0.5,{TIME}\n"
    assert read(data, table_of(has_header=False), chunk_bytes) == ([("a", 1, 0.5, INSTANT)], [])


def test_null_texts_apply_to_their_column_only() -> None:
    words = {"name": ("nan",), "count": ("nan", "-"), "share": ("nan",), "at": ("-",)}
    table = table_of([replace(column, null_texts=words[column.name]) for column in COLUMNS])
    rows, rejects = read_among_good(
        f'{HEADER}\nnan,nan,nan,-\na,-,,\n"nan","-"," 2",{TIME}\n-,1.0,nan ,\n,,,nan\n', table
    )
    assert rows == [(None, None, None, None), ("a", None, None, None), (None, None, 2.0, INSTANT)]
    assert [(reject.line, reject.reason) for reject in rejects] == [
        (5, "column share (DOUBLE): not a finite number: 'nan '"),
        (6, "column at (TIMESTAMPTZ): invalid value 'nan'"),
    ]


def test_rejects_row_without_required_value() -> None:
    table = table_of([COLUMNS[0], replace(COLUMNS[1], required=True)])
    rows, rejects = read("name,count\n,1\na,\n" + "b,2\n" * 20, table)
    assert (len(rows), rejects) == (21, [Reject(3, "column count (BIGINT): it is empty", "a,")])


@pytest.mark.parametrize("chunk_bytes", [7, CHUNK_BYTES])
@pytest.mark.parametrize("kind", ["BIGINT", "DOUBLE"])
@pytest.mark.parametrize(("unit", "last"), [("s", 4_102_444_800), ("ms", 4_102_444_800_000)])
def test_rejects_number_that_is_no_possible_time(kind: str, unit: str, last: int, chunk_bytes: int) -> None:
    table = table_of([COLUMNS[0], Column("end", kind, "", unit=unit), Column("c", "DOUBLE", "", unit="GB")])
    times = (last, -last, last + 1, 10**17, -last - 1)
    rows, rejects = read_among_good(
        "name,end,c\n" + "".join(f"a,{n},1e12\n" for n in times), table, chunk_bytes
    )
    assert rows == [("a", last, 1e12), ("a", -last, 1e12)]
    reason = f"column end ({kind}): longer than the time from 1970 to 2099"
    assert [(reject.line, reject.reason) for reject in rejects] == [(line, reason) for line in (4, 5, 6)]


def test_a_header_without_rows_is_an_empty_table() -> None:
    assert read(f"{HEADER}\n") == ([], [])
    assert read(HEADER, table_of(has_header=False)) == ([], [])
    [batch] = csv_reader.read(ReaderInput(io.BytesIO(f"\n{HEADER}\n\n".encode()), TABLE, "t.csv"))
    assert (batch.rows.num_rows, batch.rows.column_names, batch.rejects) == (0, NAMES, ())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3.0", 3),
        ("-7.000", -7),
        ("1e+05", 100_000),
        ("9007199254740991", 2**53 - 1),
        ("9007199254740993", 2**53 + 1),
        ("9007199254740993.0", 2**53 + 1),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775808.0", -(2**63)),
    ],
)
def test_keeps_whole_numbers_exactly(text: str, number: int) -> None:
    assert read(f"{HEADER}\na,{text},,\n") == ([("a", number, None, None)], [])
    # Other notations in the column do not change that.
    rows, rejects = read_among_good(
        f"{HEADER}\na,{text},,\nb,1.0,,\nc,2,,\nd,,,\ne,9007199254740993,,\nf,oops,,\n"
    )
    assert [row[1] for row in rows] == [number, 1, 2, None, 2**53 + 1]
    assert [reject.line for reject in rejects] == [7]


INVALID = "invalid value"
INFINITE = "not a finite number:"
HUGE = "1" * 400
# A text, and its value or the reason of its rejection as a BIGINT and as a DOUBLE.
NUMBERS: list[tuple[str, int | str, float | str]] = [
    ("007", 7, 7.0),
    ("-0", 0, -0.0),
    ("+1", 1, 1.0),
    (" 1\t", 1, 1.0),
    ("1.", 1, 1.0),
    ("-.0", 0, -0.0),
    (".5", INVALID, 0.5),
    ("1.5", INVALID, 1.5),
    ("9007199254740990.7", INVALID, 9007199254740991.0),
    ("1.0000000000000000000000000001", INVALID, 1.0),
    ("12.50e1", 125, 125.0),
    ("0.00012e5", 12, 12.0),
    ("0.00012e4", INVALID, 1.2),
    ("120e-1", 12, 12.0),
    ("9007199254740991e0", 2**53 - 1, 9007199254740991.0),
    ("1e99999999999", INVALID, INFINITE),
    ("1e-99999999999", INVALID, 0.0),
    ("1E+5", 100_000, 1e5),
    ("0e9", 0, 0.0),
    ("0.000e-400", 0, 0.0),
    ("1e-400", INVALID, 0.0),
    ("-0.0001e-330", INVALID, -0.0),
    ("0" * 30 + "1", 1, 1.0),
    ("0" * 5000 + "1.0", 1, 1.0),
    ("9007199254740993e0", INVALID, 9007199254740992.0),
    ("9223372036854775808", INVALID, 9223372036854775808.0),
    ("+9223372036854775807.0", 2**63 - 1, 9223372036854775808.0),
    ("9.3e18", INVALID, 9.3e18),
    ("1e400", INVALID, INFINITE),
    ("-1E400", INVALID, INFINITE),
    (HUGE, INVALID, INFINITE),
    (HUGE + "e-399", INVALID, float(HUGE + "e-399")),
    ("nan", INVALID, INFINITE),
    ("-NaN", INVALID, INFINITE),
    ("inf", INVALID, INFINITE),
    ("+Infinity", INVALID, INFINITE),
    ("nan(1)", INVALID, INVALID),
    ("0x10", INVALID, INVALID),
    ("0X1f", INVALID, INVALID),
    ("0x1p3", INVALID, INVALID),
    ("1_000", INVALID, INVALID),
    ("1d", INVALID, INVALID),
    ("1f", INVALID, INVALID),
    ("1e", INVALID, INVALID),
    ("e5", INVALID, INVALID),
    (".", INVALID, INVALID),
    ("--1", INVALID, INVALID),
    ("- 1", INVALID, INVALID),
    (" ", INVALID, INVALID),
    ("\u00a01", INVALID, INVALID),
    ("1\v", INVALID, INVALID),
    ("1\0", INVALID, INVALID),
    ("١", INVALID, INVALID),
    ("x", INVALID, INVALID),
]


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("column", [1, 2], ids=["BIGINT", "DOUBLE"])
def test_reads_or_rejects_numbers(column: int, quote: str) -> None:
    def line(text: str) -> str:
        return ",".join(f"{quote}{text}{quote}" if place == column else "" for place in range(4))

    for text, *expected in NUMBERS:
        value = expected[column - 1]
        # Alone, and in a chunk of valid and invalid rows, which the reader separates.
        for others in ("", "".join(line(text) + "\n" for text, *_ in NUMBERS)):
            rows, rejects = read_among_good(f"{HEADER}\n{line(text)}\n{others}")
            if isinstance(value, str):
                reason = f"column {NAMES[column]} ({COLUMNS[column].type}): {value} '{text}'"
                assert rejects[0] == Reject(2, reason, line(text))
            else:
                assert repr(rows[0][column]) == repr(value), text
                assert all(reject.line > 2 for reject in rejects)


def test_overflow_is_not_infinity() -> None:
    assert read(f"{HEADER}\n,,1e308,\n,,1.5e308,\n")[0] == [(None, None, x, None) for x in (1e308, 1.5e308)]
    assert read("a,b\n" + "1e308,\n,1e308\n" * 2, table_of([Column(n, "DOUBLE", "") for n in "ab"]))[1] == []


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2023-03-01 00:00:00+08:00", INSTANT),
        ("2023-03-01T00:00:00+08:00", INSTANT),
        ("2023-03-01 00:00:00+0800", INSTANT),
        ("2023-02-28T16:00:00Z", INSTANT),
        ("2023-02-28 16:00:00.000001+00:00", INSTANT + timedelta(microseconds=1)),
        ("2023-02-28 10:30:00-05:30", INSTANT),
    ],
)
def test_instants_carry_their_offset(text: str, instant: datetime) -> None:
    assert read(f"{HEADER}\na,,,{text}\n")[0] == [("a", None, None, instant)]


ZONELESS = "expected a UTC offset in"
NO_TIME = "not a time from 1970 to 2099:"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2023-03-01 00:00:00", ZONELESS),
        ("2023-03-01 00", ZONELESS),
        ("2023-03-01", INVALID),
        ("1677600000", INVALID),
        ("2023-02-30 00:00:00Z", INVALID),
        ("2023-02-29 00:00:00Z", INVALID),
        ("2023-03-01 24:00:00Z", INVALID),
        ("2023-03-01 00:00:60Z", INVALID),
        ("2023-03-01 00:00:00.1234567Z", INVALID),
        ("2023-03-01 00:00:00 Z", INVALID),
        (" 2023-03-01 00:00:00Z", INVALID),
        ("2023-03-01 00:00:00+24:00", INVALID),
        ("2023-03-01 00:00:00+08:00:00", INVALID),
        ("99999-01-01 00:00:00Z", INVALID),
        ("infinity", INVALID),
        ("x", INVALID),
        ("0000-01-01 00:00:00Z", NO_TIME),
        ("0001-01-01 00:00:00Z", NO_TIME),
        ("1969-12-31 23:59:59.999999Z", NO_TIME),
        ("1970-01-01 00:00:00+00:01", NO_TIME),
        ("2100-01-01 00:00:00Z", NO_TIME),
        ("2099-12-31 23:59:59-00:01", NO_TIME),
        ("9999-12-31 23:59:59-23:59", NO_TIME),
    ],
)
@pytest.mark.parametrize("offset_name", ["", "offset"])
def test_rejects_invalid_instants(text: str, reason: str, offset_name: str) -> None:
    table = table_of([COLUMNS[0], replace(COLUMNS[3], offset_name=offset_name)])
    data = f"name,at\na,{text}\nb,{TIME}\n" + ",\n" * 20
    [batch] = csv_reader.read(ReaderInput(io.BytesIO(data.encode()), table, "t.csv"))
    assert batch.rows["at"].drop_null().to_pylist() == [INSTANT]
    assert batch.rejects == (Reject(2, f"column at (TIMESTAMPTZ): {reason} '{text}'", f"a,{text}"),)


def test_keeps_first_and_last_instant() -> None:
    texts = ["1970-01-01 00:00:00Z", "1969-12-31 20:00:00-04:00", "2099-12-31 23:59:59.999999Z"]
    assert len(read(f"{HEADER}\n" + "".join(f",,,{text}\n" for text in texts))[0]) == 3


@pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_rejects_have_their_line_reason_and_text(newline: str, chunk_bytes: int) -> None:
    lines = [
        HEADER,
        "a,1,,",
        "",
        "b,x,,",
        '"two, of them",2,,',
        "",
        "",
        '"three",,"y",',
        "c,1,2",
        "d,1,2,,3",
        " ",
        "e,5,,",
        "",
    ]
    rows, rejects = read_among_good(newline.join(lines), chunk_bytes=chunk_bytes)
    assert [row[1] for row in rows] == [1, 2, 5]
    assert rejects == [
        Reject(4, "column count (BIGINT): invalid value 'x'", "b,x,,"),
        Reject(8, "column share (DOUBLE): invalid value 'y'", '"three",,"y",'),
        Reject(9, "3 columns; expected 4", "c,1,2"),
        Reject(10, "5 columns; expected 4", "d,1,2,,3"),
        Reject(11, "1 columns; expected 4", " "),
    ]


def test_rejects_row_that_is_not_utf8() -> None:
    rows, rejects = read_among_good(HEADER.encode() + b"\ncaf\xe9,1,,\nb,2,,\n")
    assert [row[0] for row in rows] == ["b"]
    assert rejects == [Reject(2, "column name (VARCHAR): invalid UTF-8", r"caf\xe9,1,,")]


def test_rejects_row_with_zero_byte() -> None:
    rows, rejects = read_among_good(HEADER.encode() + b"\na\0,1,,\nb,2,,\n")
    assert [row[0] for row in rows] == ["b"]
    assert rejects == [Reject(2, "column name (VARCHAR): a zero byte", "a\0,1,,")]


@pytest.mark.parametrize("data", ["", "\n", "\r\n\r\n\n", "\ufeff"])
@pytest.mark.parametrize("table", [TABLE, TEXTS], ids=["header", "no header"])
def test_rejects_empty_file(data: str, table: Table) -> None:
    assert "the file is empty" in str(refusal(data, table))


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("a,b,c", "a,b,c"),
        (f"{HEADER},more", f"{HEADER},more"),
        ("name,count,share", "name,count,share"),
        ("name,name,count,share,at", "name,name,count,share,at"),
        (HEADER.upper(), HEADER.upper()),
        ('{"error": "not found"}', '{"error": "not found"}'),
        ("x" * 300_000, "x" * 200 + "…"),
        ("a\0\x1b[31m", "a\ufffd\ufffd[31m"),
    ],
    ids=["other", "more", "fewer", "twice", "upper case", "json", "long", "control characters"],
)
def test_rejects_wrong_header(header: str, found: str) -> None:
    error = refusal(f"\n{header}\na,1,,\n")
    assert error.line == 2
    assert error.what == f"the header is {found}; expected {HEADER}"
    assert error.do.startswith("Fetch the file again")


def test_rejects_wrong_number_of_columns_without_header() -> None:
    error = refusal("a,1,2\nb,1,2\n", table_of(has_header=False))
    assert error.line == 1
    assert error.what == f"the line has 3 columns; expected 4: {HEADER}"


def test_rejects_binary_data() -> None:
    error = refusal(bytes(range(256)) * 2000)
    assert "the header is" in error.what
    assert str(error).isprintable()


CUT = "the file ends here without a newline: it may be truncated"


@pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["b,123", "b,123,,", "b,123,,x", '"b', " "])
def test_rejects_last_line_without_line_end(last: str, newline: str, chunk_bytes: int) -> None:
    good = f"a,12345,,{newline}" * 20
    rows, rejects = read(f"{HEADER}{newline}{good}{newline}{last}", chunk_bytes=chunk_bytes)
    assert (len(rows), rejects) == (20, [Reject(23, CUT, last)])


def test_keeps_last_line_without_line_end_if_declared() -> None:
    assert read(f"{HEADER}\na,123,,", UNENDED) == ([("a", 123, None, None)], [])
    rows, rejects = read(f"{HEADER}\n" + "a,1,,\n" * 20 + "b,1", UNENDED)
    assert (len(rows), rejects) == (20, [Reject(22, "2 columns; expected 4", "b,1")])


def test_rejects_record_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.ingest.readers.lines.LONGEST_RECORD_BYTES", 1000)
    rest = "x" * 5000
    assert "line 3: the line does not end" in str(refusal(f"{HEADER}\na,1,,\n{rest}", chunk_bytes=100))
    assert "line 3: the line does not end" in str(refusal(f'{HEADER}\na,1,,\n"{rest}"', chunk_bytes=100))


@pytest.mark.parametrize(
    ("bad", "good", "refused"),
    [(1, 0, True), (1, 8, True), (1, 9, False), (1000, 1, True), (1001, 9009, False), (1002, 9008, True)],
)
@pytest.mark.parametrize("bad_first", [True, False])
def test_rejects_file_with_more_than_a_tenth_bad_rows(
    bad: int, good: int, refused: bool, bad_first: bool
) -> None:
    parts = ["a,x,,\n" * bad, "b,1,,\n" * good]
    data = f"{HEADER}\n" + "".join(parts if bad_first else parts[::-1])
    if refused:
        error = refusal(data)
        assert error.line == 2 + good * (not bad_first)
        assert error.what == (
            f"{bad:,} of its {bad + good:,} rows do not fit, more than a tenth; the first:"
            " column count (BIGINT): invalid value 'x'"
        )
    else:
        rows, rejects = read(data)
        assert (len(rows), len(rejects)) == (good, bad)


def test_accepts_file_whose_bad_rows_come_first() -> None:
    data = f"{HEADER}\n" + "a,x,,\n" * 15_000 + "b,1,,\n" * 135_000
    batches = list(
        csv_reader.read(ReaderInput(io.BytesIO(data.encode()), TABLE, "t.csv", chunk_bytes=64 << 10))
    )
    assert sum(batch.rows.num_rows for batch in batches) == 135_000
    assert sum(len(batch.rejects) for batch in batches) == 15_000


class Endless(io.RawIOBase):
    """A header, and an endless repetition of one bad row."""

    def __init__(self, line: bytes):
        self.begun = False
        self.line = line

    def read(self, size: int = -1) -> bytes:
        if self.begun:
            return self.line * max(1, size // len(self.line))
        self.begun = True
        return HEADER.encode() + b"\n"


@pytest.mark.parametrize(
    "line", [b"x\n", b"a,x,,\n", b"a,x,," + b"y" * 20_000 + b"\n"], ids=["short", "bad", "long"]
)
def test_rejects_wrong_file_before_its_end(line: bytes) -> None:
    with pytest.raises(RawFileError, match=r"of the first .* rows do not fit, more than a tenth") as refused:
        list(csv_reader.read(ReaderInput(cast(BinaryIO, Endless(line)), TABLE, "t.csv")))
    assert refused.value.line == 2


def processor_s(data: bytes) -> float:
    """Return the shortest CPU time of three runs, as other processes can only add to it."""
    costs = []
    for _ in range(3):
        begun = time.process_time()
        for _ in csv_reader.read(ReaderInput(io.BytesIO(data), TABLE, "t.csv")):
            pass
        costs.append(time.process_time() - begun)
    return min(costs)


@pytest.mark.parametrize(
    "bad", ["j,x,0.5,", "j,1,nan,", "j,1,0.5,0000-01-01 00:00:00Z", "j,1,0.5", '"j,1,0.5,']
)
def test_bad_rows_cost_little_more_than_good_ones(bad: str) -> None:
    lines = [f"job-{n},{n},{n / 8},{TIME}" for n in range(50_000)]
    good_s = processor_s("\n".join([HEADER, *lines, ""]).encode())
    lines[::12] = [bad] * len(lines[::12])
    # An earlier version took a thousand times as long.
    assert processor_s("\n".join([HEADER, *lines, ""]).encode()) < 5 * good_s + 0.2


@pytest.mark.parametrize("newline", [b"\n", b"\r", b"\r\n", b"\n\r"])
def test_blank_lines_cost_no_more_than_rows(newline: bytes) -> None:
    blank = newline * (20_000_000 // len(newline))
    begun = time.process_time()
    rows, rejects = read(HEADER.encode() + b"\n" + blank + b"a,1,,\n" + blank)
    assert (rows, rejects) == ([("a", 1, None, None)], [])
    # An earlier version took three seconds per megabyte.
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("data", ["a,b\n1,2\n", "\ufeffa,b", '\r\n"a",b\r\n1,2', "a,b\r1,2\r"])
def test_reads_header_alone(data: str) -> None:
    assert read_header(io.BytesIO(data.encode()), "t.csv") == ["a", "b"]


on_one_line = st.characters(codec="utf-8", exclude_characters="\r\n\0")
texts = st.none() | st.text(on_one_line, min_size=1) | st.text('a ",\té😀', min_size=1)
integers = st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 2**53 + 1, -(2**53) - 1])
floats = st.none() | st.floats(allow_nan=False, allow_infinity=False)
offsets = st.integers(-(23 * 60 + 59), 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.none() | st.datetimes(datetime(1970, 1, 2), datetime(2099, 12, 30), timezones=offsets)
table_rows = st.lists(st.tuples(texts, integers, floats, instants), min_size=1, max_size=12)


def line_of(row: Sequence[object]) -> str:
    """Return a row as Python's csv module writes it, with line ends quoted."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(row)
    return text.getvalue().removesuffix("\r\n")


def as_cells(row: Sequence[object], point_zero: bool, separator: str) -> list[object]:
    name, count, share, at = row
    number = f"{count}.0" if point_zero and count is not None else count
    return [name, number, share, at.isoformat(separator) if at else None]


def read_with_python(text: str) -> list[Row]:
    records = csv.reader(io.StringIO(text, newline=""))
    next(records)
    return [
        (
            name or None,
            int(count.removesuffix(".0")) if count else None,
            float(share) if share else None,
            datetime.fromisoformat(at) if at else None,
        )
        for name, count, share, at in records
    ]


def comparable_rows(rows: Sequence[Row]) -> list[list[str]]:
    """Return rows as texts to compare: NaN equals NaN, -0.0 differs from 0.0, and instants are in UTC."""
    return [
        [cell.astimezone(UTC).isoformat() if isinstance(cell, datetime) else repr(cell) for cell in row]
        for row in rows
    ]


@given(
    rows=table_rows,
    chunk_bytes=st.integers(1, 200) | st.just(CHUNK_BYTES),
    point_zero=st.booleans(),
    separator=st.sampled_from("T "),
    newline=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
    ends=st.booleans(),
)
def test_reads_csv_as_python_does(
    rows: list[Row], chunk_bytes: int, point_zero: bool, separator: str, newline: str, mark: str, ends: bool
) -> None:
    cells = [as_cells(row, point_zero, separator) for row in rows]
    text = newline.join(map(line_of, [NAMES, *cells])) + newline * ends
    found, rejects = read(mark + text, UNENDED, chunk_bytes)
    assert rejects == []
    assert comparable_rows(found) == comparable_rows(read_with_python(text))
    assert comparable_rows(found) == comparable_rows(rows)


corruptions = st.sampled_from(
    [
        lambda cells: [cells[0], "1.5", *cells[2:]],
        lambda cells: [cells[0], "1_0", *cells[2:]],
        lambda cells: [*cells[:2], "1,5", cells[3]],
        lambda cells: [*cells[:2], "half", cells[3]],
        lambda cells: [*cells[:3], "2023-03-01 00:00:00"],
        lambda cells: cells[:-1],
        lambda cells: [*cells, ""],
        lambda cells: ["caf\udce9", *cells[1:]],
    ]
)


@given(
    rows=st.lists(
        st.tuples(st.tuples(texts, integers, floats, instants), st.none() | corruptions), min_size=1
    ),
    chunk_bytes=st.integers(1, 200) | st.just(CHUNK_BYTES),
)
def test_rejects_exactly_the_corrupted_rows(rows: list[tuple[Row, object]], chunk_bytes: int) -> None:
    lines = []
    for row, corrupt in rows:
        cells = as_cells(row, point_zero=False, separator=" ")
        lines.append(line_of(corrupt(cells) if corrupt else cells))
    data = "\n".join([HEADER, *lines, ""]).encode(errors="surrogateescape")
    found, rejects = read_among_good(data, chunk_bytes=chunk_bytes)
    assert comparable_rows(found) == comparable_rows([row for row, corrupt in rows if not corrupt])
    corrupted = [line for line, (_, corrupt) in zip(lines, rows, strict=True) if corrupt]
    assert [reject.raw_text for reject in rejects] == [line.replace("\udce9", r"\xe9") for line in corrupted]


@given(lines=st.lists(st.text('ab,"') | st.text('ab,,"'), max_size=20), chunk_bytes=st.integers(1, 50))
def test_splits_any_line_as_python_does(lines: list[str], chunk_bytes: int) -> None:
    rows, rejects = read_among_good("first,row\n" + "\n".join([*lines, ""]), TEXTS, chunk_bytes)
    expected = [record for line in lines if len(record := split_strictly(line)) == 2]
    assert [[cell or "" for cell in row] for row in rows[1:]] == expected
    assert len(rejects) == sum(bool(line) for line in lines) - len(expected)


def split_strictly(line: str) -> list[str]:
    """Return the fields of a line, or an empty list if a quote is open or misplaced."""
    try:
        [record] = csv.reader([line], strict=True) if line else [[]]
    except csv.Error:
        return []
    unquoted = re.sub(r'(?<![^,])"(?:[^"]|"")*"', "", line)
    return [] if '"' in unquoted else record


signs, digits = st.sampled_from(["", "", "-", "+"]), st.text("0019", max_size=20)
number_texts = st.tuples(
    *(st.sampled_from(["", "", " ", "\t"]), signs, digits, st.sampled_from(["", ".", ".0", ".5"]), digits),
    *(st.sampled_from(["", "", "e", "E"]), signs, st.text("0123", max_size=3)),
).map("".join) | st.sampled_from(["nan", "-inf", "0x1F", "1_0", "", "9" * 310])
time_texts = st.tuples(
    *(st.sampled_from(["0000", "1969", "1970", "2024", "2099", "2100"]), st.just("-")),
    *(
        st.sampled_from(["00", "01", "02", "06", "12"]),
        st.just("-"),
        st.sampled_from(["01", "28", "29", "31"]),
    ),
    *(st.sampled_from("T t"), st.sampled_from(["00", "23:59", "24:00", "23:59:59", "08:00:60"])),
    *(st.sampled_from(["", "", ".5", ".123456", ".1234567"]), st.sampled_from(["", " ", ":30"])),
    st.sampled_from(["Z", "", "+08:00", "-0530", "+23:59", "+24:00", "-08", "z"]),
).map("".join)
plain_texts = st.text("ab é'", max_size=5)


def convert_cell(text: str, kind: str) -> object:
    """Convert one cell with Python's numbers and Arrow's times. Raise ValueError if it is invalid."""
    if not text or kind == "VARCHAR":
        return text or None
    if kind == "TIMESTAMPTZ":
        microseconds = pa.scalar(text).cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).as_py()
        if not 0 <= microseconds < datetime(2100, 1, 1, tzinfo=UTC).timestamp() * 1e6:
            raise ValueError(text)
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    text = text.strip(" \t")
    if set(text) - set("0123456789+-.eE") or (kind == "DOUBLE" and not math.isfinite(float(text))):
        raise ValueError(text)
    if kind == "DOUBLE":
        return float(text)
    float(text)
    number = Fraction(text)
    limit = 2**53 if "e" in text.lower() else 2**63
    if number.denominator > 1 or not (-limit < number < limit or number == -(2**63) == -limit):
        raise ValueError(text)
    return int(number)


@given(
    lines=st.lists(st.tuples(plain_texts, number_texts, number_texts, time_texts), min_size=1, max_size=20),
    chunk_bytes=st.integers(1, 500) | st.just(CHUNK_BYTES),
    quoted=st.sets(st.integers(0, 3)),
)
def test_rows_equal_cells_read_one_by_one(
    lines: list[tuple[str, ...]], chunk_bytes: int, quoted: set[int]
) -> None:
    kept, rejected = [], []
    for number, cells in enumerate(lines, start=2):
        try:
            kept.append(
                tuple(convert_cell(cell, column.type) for cell, column in zip(cells, COLUMNS, strict=True))
            )
        except ValueError:
            rejected.append(number)
    data = "".join(
        ",".join(f'"{cell}"' if place in quoted and cell else cell for place, cell in enumerate(cells)) + "\n"
        for cells in lines
    )
    found, rejects = read_among_good(f"{HEADER}\n{data}", chunk_bytes=chunk_bytes)
    assert comparable_rows(found) == comparable_rows(kept)
    assert [reject.line for reject in rejects] == rejected


pieces = st.sampled_from(
    [
        *(b",", b"\n", b"\r\n", b"\r", b'"', b'""', b"\n1,2\n", b'\n"1","2"\n', b"\n" * 50, b"\n,1" * 30),
        *(b"1", b"1.0", b"0x1", b"1e5", b"nan", b" ", b"\0", b"\xef\xbb\xbf", b"\xc3", b"\xc3\xa9"),
        *(b"x" * 300, b"9" * 300),
    ]
)
any_bytes = st.binary() | st.lists(pieces, max_size=60).map(b"".join)


@given(
    data=any_bytes, chunk_bytes=st.integers(1, 50), types=st.sampled_from([(0, 1), (0, 2), (1, 2), (2, 3)])
)
def test_any_bytes_give_the_same_result_at_any_chunk_size(
    data: bytes, chunk_bytes: int, types: tuple[int, ...]
) -> None:
    table = table_of([COLUMNS[n] for n in types], has_header=False)
    outcomes = []
    for size in (chunk_bytes, CHUNK_BYTES):
        try:
            rows, rejects = read(data, table, size)
            outcomes.append((comparable_rows(rows), rejects))
            is_header = bool(
                re.match(rf"(\ufeff)?[\r\n]*\"?{table.columns[0].name}\b", data.decode(errors="replace"))
            )
            assert len(rows) + len(rejects) == count_lines(data) - is_header
        except RawFileError as error:
            outcomes.append(error.line)
    assert outcomes[0] == outcomes[1]


def damage_csv(rng: random.Random, lines: int) -> bytes:
    """Return a CSV with bytes changed, removed or inserted, few enough that the file is mostly accepted."""
    end = rng.choice([b"\n", b"\r\n", b"\r"])
    texts = (
        f"job-{n},{rng.randrange(10**6)},{rng.random()},{TIME}" if n % 7 else f'"a, ""b""",{n}.0,1e5,'
        for n in range(lines)
    )
    data = bytearray(end.join([HEADER.encode(), *map(str.encode, texts), b""]))
    for _ in range(rng.randrange(lines // 15)):
        at = rng.randrange(len(HEADER) + 2, len(data))
        data[at : at + rng.randrange(3)] = rng.choice([*insertions, b"", rng.randbytes(3)])
    return bytes(data[: rng.choice([len(data), len(data), rng.randrange(len(HEADER) + 2, len(data))])])


insertions = [
    b"\n",
    b"\r",
    b",",
    b'"',
    b'""',
    b"0x",
    b"e400",
    b"nan",
    b"\0",
    b"\xff",
    b"\n\n\n",
    b"-",
    b"+",
]


def test_keeps_or_rejects_each_line_of_damaged_file() -> None:
    rng, kept, rejected, refused = random.Random(SEED), 0, 0, 0
    while kept + rejected < FUZZED_ROWS or min(kept, rejected, refused) == 0:
        data = damage_csv(rng, rng.choice([20, 200, 2000]))
        chunk_bytes = rng.choice([100, 1000, 10_000, CHUNK_BYTES])
        try:
            batches = list(
                csv_reader.read(ReaderInput(io.BytesIO(data), TABLE, "t.csv", chunk_bytes=chunk_bytes))
            )
        except RawFileError:
            refused += 1
            continue
        lines = re.split(rb"\r\n|\r|\n", data)
        rejects = [reject for batch in batches for reject in batch.rejects]
        rows = sum(batch.rows.num_rows for batch in batches)
        assert rows + len(rejects) == count_lines(data) - 1
        assert len({reject.line for reject in rejects}) == len(rejects)
        for reject in rejects:
            assert reject.raw_text == lines[reject.line - 1].decode(errors="backslashreplace")
        for batch in batches:
            assert pc.all(pc.is_finite(batch.rows["share"]), min_count=0).as_py()
        kept, rejected = kept + rows, rejected + len(rejects)


def count_lines(data: bytes) -> int:
    """Count the lines that are not blank."""
    return sum(bool(line) for line in re.split(rb"[\r\n]", data.removeprefix(b"\xef\xbb\xbf")))


@pytest.mark.parametrize("chunk_bytes", [1, CHUNK_BYTES])
def test_byte_order_mark_counts_only_at_start_of_file(chunk_bytes: int) -> None:
    data = "\ufeff\ufeffa,\n\ufeff,\n\ufeffb,c\n"
    assert read(data, TEXTS, chunk_bytes) == ([("\ufeffa", None), ("\ufeff", None), ("\ufeffb", "c")], [])


def test_keeps_offset_as_written() -> None:
    table = Table(
        name="t",
        comment="",
        grain="",
        source="",
        file_name=r"t\.csv",
        columns=(Column("at", "TIMESTAMPTZ", "", offset_name="offset"), Column("count", "BIGINT", "")),
    )
    data = b"at,count\n2023-03-01 08:00:00+08:00,1\n2023-03-01T00:00:00Z,2.0\n,3\n2023-03-01 00:00:00,4\n"
    data += b"\n" + b",5\n" * 10
    [batch] = csv_reader.read(ReaderInput(io.BytesIO(data), table, "t.csv"))
    instant = datetime(2023, 3, 1, tzinfo=UTC)
    assert batch.rows.slice(0, 3).to_pylist() == [
        {"at": instant, "count": 1, "offset": "+08:00"},
        {"at": instant, "count": 2, "offset": "Z"},
        {"at": None, "count": 3, "offset": None},
    ]
    [reject] = batch.rejects
    assert (reject.line, reject.reason) == (
        5,
        "column at (TIMESTAMPTZ): expected a UTC offset in '2023-03-01 00:00:00'",
    )
