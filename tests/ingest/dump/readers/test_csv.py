"""CSV: every line is kept with exact values, or rejected with its line, its reason and its text."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import BinaryIO, cast
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from non_empty import non_empty

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declare.trace import Column, Table
from tracehouse.ingest.dump.readers import ReaderInput, Reject
from tracehouse.ingest.dump.readers.csv import CHUNK_BYTES, READER, ChunkParser, read_names

CSV = READER
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
NEWLINES = ("\n", "\r\n", "\r")

Row = tuple[object, ...]


def table_of(columns: Sequence[Column] = COLUMNS, **options: object) -> Table:
    options = {"file_name": r"t\.csv", **options}
    return Table(name="t", comment="", grain="", source="", columns=tuple(columns), **options)


TABLE = table_of()
UNENDED = table_of(ends_in_newline=False)
TEXT_COLUMNS = (Column("a", "VARCHAR", "Text"), Column("b", "VARCHAR", "Text"))
TEXTS = table_of(TEXT_COLUMNS, has_header=False, ends_in_newline=False)


def read(
    data: str | bytes, table: Table = TABLE, chunk_bytes: int = CHUNK_BYTES, reader: object = CSV
) -> tuple[list[Row], list[Reject]]:
    stream = io.BytesIO(data.encode() if isinstance(data, str) else data)
    batches = list(reader.read(ReaderInput(stream, table, "t.csv", chunk_bytes=chunk_bytes)))
    assert all(batch.rows.column_names == [c.name for c in table.read_columns] for batch in batches)
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
    assert str(refused.value).startswith("t.csv")
    assert str(refused.value).isprintable()
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


def test_every_csv_dialect_gives_the_same_rows() -> None:
    for form, text in FORMS.items():
        for chunk_bytes in CHUNK_SIZES:
            assert read(text, UNENDED, chunk_bytes) == (ROWS, []), (form, chunk_bytes)


def test_quoted_field_may_contain_anything_except_line_ends() -> None:
    texts = ["comma, comma", 'say ""x""', "", " spaces ", "ünï, çødé", '""', '"",""', "'"]
    for newline in NEWLINES:
        data = newline.join(f'"{text}",1,,' for text in texts)
        for chunk_bytes in CHUNK_SIZES:
            rows, rejects = read(f"{HEADER}{newline}{data}{newline}", chunk_bytes=chunk_bytes)
            assert [row[0] for row in rows] == [text.replace('""', '"') for text in texts]
            assert rejects == []


def test_misplaced_quote_rejects_only_its_line() -> None:
    reason = "a quote that is not closed on its line, or that is inside a field"
    bad = ['"a,1,,', 'a,1,,"', 'a,"1,,', '5" pipe,1,,', '"a"b,1,,', 'lines",1,,', '"""a"",1,,']
    for line in non_empty(bad):
        # Two such quotes must not join all lines between them.
        lines = [HEADER, "b,1,,", line, *(f"{n},2,," for n in range(98)), line, '"all, right",4,,']
        for newline in NEWLINES:
            rows, rejects = read(newline.join(lines) + newline)
            assert [row[0] for row in rows] == ["b", *map(str, range(98)), "all, right"]
            assert rejects == [Reject(3, reason, line), Reject(102, reason, line)]


def test_empty_field_is_null_unless_quoted() -> None:
    for newline in ("", "\n"):
        rows = [("x", None), (None, "y"), ("", ""), ("z", None)]
        assert read(f'"x",\n,"y"\n"",""\n"z",{newline}', TEXTS)[0] == rows


def test_a_comma_at_the_end_of_each_line_is_no_column() -> None:
    """A lone comma is a row that does not fit, even if another line has additional commas."""
    table = table_of((Column("a", "VARCHAR", "", required=True), *TEXT_COLUMNS[1:]), ends_in_comma=True)
    for lone in (1, 2, 30):
        lines = ["a,b,", *["x,1,"] * 30]
        lines[lone] = ","
        lines[20] = "x,1,x,"
        rows, rejects = read("".join(f"{line}\n" for line in lines), table)
        assert (len(rows), [reject.line for reject in rejects]) == (28, sorted([lone + 1, 21]))
    assert read("a,b,\nx,1,\ny,2\nz,,\nw,\n", table)[0] == [("x", "1"), ("y", "2"), ("z", None), ("w", None)]
    shorter = replace(table, optional=frozenset({"b"}))
    assert read("a,\nx,\ny\n", shorter) == ([("x", None), ("y", None)], [])


def test_columns_are_found_by_their_names() -> None:
    assert read(f"at,share,count,name\n{TIME},0.5,1,a\n") == ([("a", 1, 0.5, INSTANT)], [])
    unnamed = table_of([Column("row_number", "BIGINT", "", header=""), *COLUMNS[:2]])
    assert read(",name,count\n0,a,1\n1,b,2\n", unnamed) == ([(0, "a", 1), (1, "b", 2)], [])
    assert read("name,,count\na,0,1\n", unnamed) == ([(0, "a", 1)], [])
    optional = table_of(optional=frozenset({"share", "at"}))
    assert read("name,count\na,1\n", optional) == ([("a", 1, None, None)], [])
    assert "the header lacks count. " in str(refusal("name,share,at\na,1,\n", optional))
    for header in ("", f"{HEADER}\n", f"\n{HEADER}\r\n"):
        data = header + f"a,1,0.5,{TIME}\n"
        assert read(data, table_of(has_header=False)) == ([("a", 1, 0.5, INSTANT)], [])


def test_null_texts_apply_to_their_column_only() -> None:
    words = {"name": ("nan",), "count": ("nan", "-"), "share": ("nan",), "at": ("-",)}
    table = table_of([replace(column, null_texts=words[column.name]) for column in COLUMNS])
    rows, rejects = read_among_good(
        f'{HEADER}\nnan,nan,nan,-\na,-,,\n"nan","-"," 2",{TIME}\n-,1.0,nan ,\n,,,--\n', table
    )
    assert rows == [(None, None, None, None), ("a", None, None, None), (None, None, 2.0, INSTANT)]
    assert [(reject.line, reject.reason) for reject in rejects] == [
        (5, "column share (DOUBLE): not a finite number: 'nan '"),
        (6, "column at (TIMESTAMPTZ): invalid value '--'"),
    ]


def test_words_for_a_missing_value_are_null_except_in_texts() -> None:
    """Programs that write a CSV again also write integers as floats, because NaN is one."""
    flags = (*COLUMNS, Column("flag", "BOOLEAN", ""), Column("list", "BIGINT[]", ""))
    words = ["NaN", "nan", "NaT", "None", "NA", "<NA>", "NULL", "null"]
    for table in (table_of(flags), table_of([*flags[:1], *flags[2:]])):
        nulls = (None,) * (len(table.columns) - 1)
        rows, rejects = read_among_good(
            "".join(f"{','.join([word] * len(table.columns))}\n" for word in words),
            replace(table, has_header=False),
        )
        assert rows == [(word, *nulls) for word in words] and rejects == []
    assert read(f"{HEADER}\nNone,12.0,NaN,\n") == ([("None", 12, None, None)], [])
    required = table_of([COLUMNS[0], replace(COLUMNS[1], required=True)])
    rows, rejects = read("name,count\na,NaN\n" + "b,2\n" * 20, required)
    assert (len(rows), rejects) == (20, [Reject(2, "column count (BIGINT): it is empty", "a,NaN")])


def test_rejects_row_without_required_value() -> None:
    table = table_of([COLUMNS[0], replace(COLUMNS[1], required=True)])
    rows, rejects = read("name,count\n,1\na,\n" + "b,2\n" * 20, table)
    assert (len(rows), rejects) == (21, [Reject(3, "column count (BIGINT): it is empty", "a,")])


def test_rejects_number_that_is_no_possible_time() -> None:
    for unit, last in (("s", 4_102_444_800), ("ms", 4_102_444_800_000)):
        for kind in ("BIGINT", "DOUBLE"):
            end = Column("end", kind, "", unit=unit)
            table = table_of([COLUMNS[0], end, Column("c", "DOUBLE", "", unit="GB")])
            times = (last, -last, last + 1, 10**17, -last - 1)
            rows, rejects = read_among_good("name,end,c\n" + "".join(f"a,{n},1e12\n" for n in times), table)
            assert rows == [("a", last, 1e12), ("a", -last, 1e12)]
            reason = f"column end ({kind}): longer than the time from 1970 to 2099"
            assert [(reject.line, reject.reason) for reject in rejects] == [(n, reason) for n in (4, 5, 6)]


def test_a_header_without_rows_is_an_empty_table() -> None:
    assert read(f"{HEADER}\n") == ([], [])
    assert read(HEADER, table_of(has_header=False)) == ([], [])
    [batch] = CSV.read(ReaderInput(io.BytesIO(f"\n{HEADER}\n\n".encode()), TABLE, "t.csv"))
    assert (batch.rows.num_rows, batch.rows.column_names, batch.rejects) == (0, NAMES, ())


INVALID = "invalid value"
INFINITE = "not a finite number:"
HUGE = "1" * 400
# A text, and its value or the reason of its rejection as a BIGINT and as a DOUBLE.
NUMBERS: list[tuple[str, int | str, float | str]] = [
    ("007", 7, 7.0),
    ("3.0", 3, 3.0),
    ("-7.000", -7, -7.0),
    ("9007199254740993", 2**53 + 1, 9007199254740992.0),
    ("9007199254740993.0", 2**53 + 1, 9007199254740992.0),
    ("9223372036854775807", 2**63 - 1, 2.0**63),
    ("-9223372036854775808", -(2**63), -(2.0**63)),
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
    ("Nan", INVALID, INFINITE),
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


def test_reads_or_rejects_numbers() -> None:
    def outcomes(lines: Sequence[str], column: int) -> list[str]:
        rows, rejects = read_among_good("\n".join([HEADER, *lines, ""]))
        reasons = {reject.line: reject.reason for reject in rejects}
        kept = iter(rows)
        return [reasons.get(n) or repr(next(kept)[column]) for n in range(2, 2 + len(lines))]

    for column, quote in ((1, ""), (1, '"'), (2, ""), (2, '"')):
        place = f"column {NAMES[column]} ({COLUMNS[column].type}): "
        before, after = "," * column, "," * (3 - column)
        lines = [f"{before}{quote}{text}{quote}{after}" for text, *_ in NUMBERS]
        expected = [
            f"{place}{values[column - 1]} '{text}'"
            if isinstance(values[column - 1], str)
            else repr(values[column - 1])
            for text, *values in NUMBERS
        ]
        assert outcomes(lines, column) == expected
        # Alone, Arrow reads those that it can.
        assert [outcomes([line], column)[0] for line in lines] == expected


def test_overflow_is_not_infinity() -> None:
    assert read(f"{HEADER}\n,,1e308,\n,,1.5e308,\n")[0] == [(None, None, x, None) for x in (1e308, 1.5e308)]
    assert read("a,b\n" + "1e308,\n,1e308\n" * 2, table_of([Column(n, "DOUBLE", "") for n in "ab"]))[1] == []


def test_instants_carry_their_offset() -> None:
    microsecond = timedelta(microseconds=1)
    texts = {
        "2023-03-01 00:00:00+08:00": INSTANT,
        "2023-03-01T00:00:00+08:00": INSTANT,
        "2023-03-01 00:00:00+0800": INSTANT,
        "2023-02-28T16:00:00Z": INSTANT,
        "2023-02-28 16:00:00.000001+00:00": INSTANT + microsecond,
        "2023-02-28 10:30:00-05:30": INSTANT,
        "1970-01-01 00:00:00Z": datetime(1970, 1, 1, tzinfo=UTC),
        "1969-12-31 20:00:00-04:00": datetime(1970, 1, 1, tzinfo=UTC),
        "2099-12-31 23:59:59.999999Z": datetime(2100, 1, 1, tzinfo=UTC) - microsecond,
    }
    for text, instant in non_empty(texts.items()):
        assert read(f"{HEADER}\na,,,{text}\n")[0] == [("a", None, None, instant)]


ZONELESS = "expected a UTC offset in"
NO_TIME = "not a time from 1970 to 2099:"
BAD_TIMES = {
    "2023-03-01 00:00:00": ZONELESS,
    "2023-03-01 00": ZONELESS,
    "2023-03-01": INVALID,
    "1677600000": INVALID,
    "2023-02-30 00:00:00Z": INVALID,
    "2023-02-29 00:00:00Z": INVALID,
    "2023-03-01 24:00:00Z": INVALID,
    "2023-03-01 00:00:60Z": INVALID,
    "2023-03-01 00:00:00.1234567Z": INVALID,
    "2023-03-01 00:00:00 Z": INVALID,
    " 2023-03-01 00:00:00Z": INVALID,
    "2023-03-01 00:00:00+24:00": INVALID,
    "2023-03-01 00:00:00+08:00:00": INVALID,
    "99999-01-01 00:00:00Z": INVALID,
    "infinity": INVALID,
    "x": INVALID,
    "0000-01-01 00:00:00Z": NO_TIME,
    "0001-01-01 00:00:00Z": NO_TIME,
    "1969-12-31 23:59:59.999999Z": NO_TIME,
    "1970-01-01 00:00:00+00:01": NO_TIME,
    "2100-01-01 00:00:00Z": NO_TIME,
    "2099-12-31 23:59:59-00:01": NO_TIME,
    "9999-12-31 23:59:59-23:59": NO_TIME,
}


def test_rejects_invalid_instants() -> None:
    for text, reason in BAD_TIMES.items():
        for offset_name in ("", "offset"):
            table = table_of([COLUMNS[0], replace(COLUMNS[3], offset_name=offset_name)])
            rows, rejects = read(f"name,at\na,{text}\nb,{TIME}\n" + "c,\n" * 20, table)
            assert rows[0][:2] == ("b", INSTANT)
            reason_and_text = f"column at (TIMESTAMPTZ): {reason} '{text}'"
            assert rejects == [Reject(2, reason_and_text, f"a,{text}")]


def test_rejects_have_their_line_reason_and_text() -> None:
    lines = [HEADER, "a,1,,", "", "b,x,,", '"two, of them",2,,', "", "", '"three",,"y",', "c,1,2"]
    lines += ["d,1,2,,3", " ", "e,5,,", ""]
    for newline in NEWLINES:
        for chunk_bytes in CHUNK_SIZES:
            rows, rejects = read_among_good(newline.join(lines), chunk_bytes=chunk_bytes)
            assert [row[1] for row in rows] == [1, 2, 5]
            assert rejects == [
                Reject(4, "column count (BIGINT): invalid value 'x'", "b,x,,"),
                Reject(8, "column share (DOUBLE): invalid value 'y'", '"three",,"y",'),
                Reject(9, "3 columns; expected 4", "c,1,2"),
                Reject(10, "5 columns; expected 4", "d,1,2,,3"),
                Reject(11, "1 columns; expected 4", " "),
            ]


def test_rejects_text_with_bytes_that_are_not_text() -> None:
    rows, rejects = read_among_good(HEADER.encode() + b"\ncaf\xe9,1,,\nb,2,,\na\0,1,,\n")
    assert [row[0] for row in rows] == ["b"]
    assert rejects == [
        Reject(2, "column name (VARCHAR): invalid UTF-8", r"caf\xe9,1,,"),
        Reject(4, "column name (VARCHAR): a zero byte", "a\0,1,,"),
    ]


def test_refuses_file_of_another_table() -> None:
    for data in ("", "\n", "\r\n\r\n\n", "\ufeff"):
        assert "the file is empty" in str(refusal(data)) and "the file is empty" in str(refusal(data, TEXTS))
    headers = {
        "a,b,c": "a,b,c",
        '{"error": "not found"}': '{"error": "not found"}',
        "x" * 300_000: "x" * 200 + "…",
        "a\0\x1b[31m": "a\ufffd\ufffd[31m",
    }
    for header, found in headers.items():
        error = refusal(f"\n{header}\na,1,,\n")
        assert (error.line, error.what) == (2, f"the first line is {found}; expected the header {HEADER}")
        assert error.do.startswith("Fetch the file again")
    error = refusal("a,1,2\nb,1,2\n", table_of(has_header=False))
    assert (error.line, error.what) == (1, f"the line has 3 columns; expected 4: {HEADER}")
    assert "the first line is" in refusal(bytes(range(256)) * 2000).what
    assert "the line has 20,001 columns; at most 20,000" in refusal("name" + 20_000 * ",x" + "\n").what


INDEX = "which looks like the index that pandas writes"
FETCH, CORRECT, WRITE = "Fetch the file again", "Correct the names, or move", "Write "
# A header, and how it differs from the declared one, and the beginning of the advice.
HEADERS = {
    f"{HEADER},more,,": ("the header has more,,, which is not declared and repeats ", FETCH),
    f"{HEADER},more": ("the header has more, which is not declared", "Remove it, or move"),
    HEADER.replace("share", "part"): ("the header has 'part' instead of 'share'", CORRECT),
    "NAME,count, share,at": ("the header has 'NAME, share' instead of 'name,share'", CORRECT),
    "name,count,part": ("the header lacks share,at and has part, which is not declared", FETCH),
    "name,count,share": ("the header lacks at", FETCH),
    "name,name,count,share,at": ("the header repeats name", FETCH),
    f",{HEADER}": (f"the header has a column without a name, {INDEX}", WRITE),
    f"Unnamed: 0,{HEADER}": (f"the header has a column Unnamed: 0, {INDEX}", WRITE),
    f",Unnamed: 0,{HEADER}": (f"the header has a column Unnamed: 0,without a name, {INDEX}", WRITE),
    ",name,count,share": (f"the header lacks at and has a column without a name, {INDEX}", FETCH),
    HEADER.replace(",", ";"): ("its fields are separated by semicolons; expected commas", WRITE),
    HEADER.replace(",", "\t"): ("its fields are separated by tabs; expected commas", WRITE),
}


def test_says_how_a_header_differs() -> None:
    for header, (what, do) in HEADERS.items():
        error = refusal(f"\n{header}\na,1,,\n")
        assert (error.line, error.what) == (2, what) and error.do.startswith(do)
    optional = table_of(optional=frozenset({"share", "at"}))
    assert refusal("name,part\na,1\n", optional).what == "the header has 'part' instead of 'count'"
    assert refusal("name,part,AT\na,1,\n", optional).what == (
        "the header has 'AT' instead of 'at' and lacks count and has part, which is not declared"
    )
    bare = table_of(has_header=False)
    assert refusal(f",{HEADER}\n0,a,1,,\n", bare).what == f"the header has a column without a name, {INDEX}"
    assert (
        refusal("a|1||\nb|1||\n", bare).what == "its fields are separated by vertical bars; expected commas"
    )
    error = refusal("0,a,1,,\n1,b,1,,\n", bare)
    assert error.what.endswith("The first column looks like the index that pandas writes")
    assert error.do.startswith(WRITE)


def test_keeps_a_complete_last_line_without_line_end() -> None:
    cut = "the file ends here without a newline: it may be truncated"
    bad = {
        "b,123": "2 columns; expected 4",
        "b,123,,x": f"column at (TIMESTAMPTZ): {INVALID} 'x'",
        '"b': "a quote that is not closed on its line, or that is inside a field",
        " ": "1 columns; expected 4",
    }
    for newline in NEWLINES:
        good = f"{HEADER}{newline}" + f"a,12345,,{newline}" * 20 + newline
        for chunk_bytes in CHUNK_SIZES:
            rows, rejects = read(f"{good}b,123,,", chunk_bytes=chunk_bytes)
            assert (rows[20:], rejects) == ([("b", 123, None, None)], [])
            for last, reason in bad.items():
                rows, rejects = read(f"{good}{last}", chunk_bytes=chunk_bytes)
                assert (len(rows), rejects) == (20, [Reject(23, f"{reason}; {cut}", last)])


def test_rejects_record_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.ingest.dump.readers.lines.LONGEST_RECORD_BYTES", 1000)
    rest = "x" * 5000
    assert "line 3: the line does not end" in str(refusal(f"{HEADER}\na,1,,\n{rest}", chunk_bytes=100))
    assert "line 3: the line does not end" in str(refusal(f'{HEADER}\na,1,,\n"{rest}"', chunk_bytes=100))


def test_refuses_file_with_more_than_a_tenth_bad_rows() -> None:
    cases = [
        (1, 0, True),
        (1, 8, True),
        (1, 9, False),
        (1000, 1, True),
        (1001, 9009, False),
        (1002, 9008, True),
    ]
    for bad, good, is_refused in cases:
        for bad_first in (True, False):
            parts = ["a,x,,\n" * bad, "b,1,,\n" * good]
            data = f"{HEADER}\n" + "".join(parts if bad_first else parts[::-1])
            if is_refused:
                error = refusal(data)
                assert error.line == 2 + good * (not bad_first)
                assert error.what == (
                    f"{bad:,} of its {bad + good:,} rows do not fit, more than a tenth; the first:"
                    " column count (BIGINT): invalid value 'x'"
                )
            else:
                rows, rejects = read(data)
                assert (len(rows), len(rejects)) == (good, bad)
    # Bad rows may come first.
    rows, rejects = read(f"{HEADER}\n" + "a,x,,\n" * 15_000 + "b,1,,\n" * 135_000, chunk_bytes=64 << 10)
    assert (len(rows), len(rejects)) == (135_000, 15_000)


class Endless(io.RawIOBase):
    """A header, and an endless repetition of one bad row."""

    def __init__(self, line: bytes):
        self._line = line
        self._ahead = f"{HEADER}\n".encode()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._ahead += self._line * (len(buffer) // len(self._line) + 1)
        buffer[:] = self._ahead[: len(buffer)]
        self._ahead = self._ahead[len(buffer) :]
        return len(buffer)


def test_refuses_wrong_file_before_its_end() -> None:
    for line in (b"x\n", b"a,x,,\n"):
        stream = cast(BinaryIO, Endless(line))
        with pytest.raises(RawFileError, match=r"of the first .* rows do not fit, more than") as refused:
            list(CSV.read(ReaderInput(stream, TABLE, "t.csv")))
        assert refused.value.line == 2


def test_reads_header_alone() -> None:
    for data in ("a,b\n1,2\n", "\ufeffa,b", '\r\n"a",b\r\n1,2', "a,b\r1,2\r"):
        assert read_names(io.BytesIO(data.encode()), "t.csv") == ["a", "b"]


def comparable_rows(rows: Sequence[Row]) -> list[list[str]]:
    """Return rows as texts to compare: NaN equals NaN, -0.0 differs from 0.0, and instants are in UTC."""
    return [
        [cell.astimezone(UTC).isoformat() if isinstance(cell, datetime) else repr(cell) for cell in row]
        for row in rows
    ]


pieces = st.sampled_from(
    [
        *(b",", b"\n", b"\r\n", b"\r", b'"', b'""', b"\n1,2\n", b'\n"1","2"\n', b"\n" * 50, b"\n,1" * 30),
        *(b"1", b"1.0", b"0x1", b"1e5", b"nan", b" ", b"\0", b"\xef\xbb\xbf", b"\xc3", b"\xc3\xa9"),
        *(b"x" * 300, b"9" * 300),
    ]
)
any_bytes = st.binary() | st.lists(pieces, max_size=60).map(b"".join)


def no_rows(*_: object) -> None: ...


@given(
    data=any_bytes, chunk_bytes=st.integers(1, 50), types=st.sampled_from([(0, 1), (0, 2), (1, 2), (2, 3)])
)
def test_any_bytes_give_the_same_result_at_any_chunk_size_on_both_paths(
    data: bytes, chunk_bytes: int, types: tuple[int, ...]
) -> None:
    table = table_of([COLUMNS[n] for n in types], has_header=False)
    outcomes = []
    # By small chunks, by one chunk, and without the fast path.
    for size, is_fast in ((chunk_bytes, True), (CHUNK_BYTES, True), (chunk_bytes, False)):
        try:
            with patch.object(ChunkParser, "_parse_typed", ChunkParser._parse_typed if is_fast else no_rows):
                rows, rejects = read(data, table, size)
            outcomes.append((comparable_rows(rows), rejects))
            is_header = bool(
                re.match(rf"(\ufeff)?[\r\n]*\"?{table.columns[0].name}\b", data.decode(errors="replace"))
            )
            assert len(rows) + len(rejects) == count_lines(data) - is_header
        except RawFileError as error:
            outcomes.append(error.line)
    assert outcomes[0] == outcomes[1] == outcomes[2]


def count_lines(data: bytes) -> int:
    """Count the lines that are not blank."""
    return sum(bool(line) for line in re.split(rb"[\r\n]", data.removeprefix(b"\xef\xbb\xbf")))


def test_byte_order_mark_counts_only_at_start_of_file() -> None:
    data = "\ufeff\ufeffa,\n\ufeff,\n\ufeffb,c\n"
    for size in (1, CHUNK_BYTES):
        assert read(data, TEXTS, size) == ([("\ufeffa", None), ("\ufeff", None), ("\ufeffb", "c")], [])


def test_keeps_offset_as_written() -> None:
    table = table_of((Column("at", "TIMESTAMPTZ", "", offset_name="offset"), Column("count", "BIGINT", "")))
    data = "at,count\n2023-03-01 08:00:00+08:00,1\n2023-03-01T00:00:00Z,2.0\n,3\n2023-03-01 00:00:00,4\n"
    rows, [reject] = read(data + "\n" + ",5\n" * 10, table)
    instant = datetime(2023, 3, 1, tzinfo=UTC)
    assert rows[:3] == [(instant, 1, "+08:00"), (instant, 2, "Z"), (None, 3, None)]
    reason = "column at (TIMESTAMPTZ): expected a UTC offset in '2023-03-01 00:00:00'"
    assert (reject.line, reject.reason) == (5, reason)
