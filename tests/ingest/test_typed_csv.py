import csv
import io
import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracehouse.ingest.declare import Column, Table
from tracehouse.ingest.errors import RawFileError
from tracehouse.ingest.records import read_header
from tracehouse.ingest.typed_csv import CHUNK_BYTES, Reject, read_csv

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

Row = tuple[object, ...]


def table_of(columns: Sequence[Column] = COLUMNS, **options: object) -> Table:
    options = {"csv_name": r"t\.csv", **options}
    return Table(name="t", comment="", grain="", source="", columns=tuple(columns), **options)


TABLE = table_of()
TEXTS = table_of((Column("a", "VARCHAR", "Text"), Column("b", "VARCHAR", "Text")), has_header=False)


def read(
    data: str | bytes, table: Table = TABLE, chunk_bytes: int = CHUNK_BYTES
) -> tuple[list[Row], list[Reject]]:
    stream = io.BytesIO(data.encode() if isinstance(data, str) else data)
    batches = list(read_csv(stream, table, "t.csv", chunk_bytes))
    assert all(batch.rows.column_names == [column.name for column in table.columns] for batch in batches)
    rows = [tuple(row.values()) for batch in batches for row in batch.rows.to_pylist()]
    return rows, [reject for batch in batches for reject in batch.rejects]


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
def test_every_way_to_write_a_csv_gives_the_same_rows(form: str, chunk_bytes: int) -> None:
    assert read(FORMS[form], chunk_bytes=chunk_bytes) == (ROWS, [])


@pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_quoted_fields_hold_what_they_like(newline: str, chunk_bytes: int) -> None:
    texts = [
        "comma, comma",
        "two\nlines",
        "two\r\nlines",
        "a\rb",
        'say ""x""',
        "",
        " spaces ",
        "ünï, çødé",
        "\n",
    ]
    data = newline.join(f'"{text}",1,,' for text in texts)
    rows, rejects = read(f"{HEADER}{newline}{data}{newline}", chunk_bytes=chunk_bytes)
    assert [row[0] for row in rows] == [text.replace('""', '"') for text in texts]
    assert rejects == []


@pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)
def test_a_quote_inside_a_field_is_text(chunk_bytes: int) -> None:
    data = f'{HEADER}\n5" pipe,1,,\nb,2,,\n"two\nlines",3,,\n6" pipe,4,,\nc,5,,\n'
    rows, rejects = read(data, chunk_bytes=chunk_bytes)
    assert [row[:2] for row in rows] == [
        ('5" pipe', 1),
        ("b", 2),
        ("two\nlines", 3),
        ('6" pipe', 4),
        ("c", 5),
    ]
    assert rejects == []


def test_a_lone_quote_does_not_slow_down_a_long_file() -> None:
    # Walking back to a line with an even number of quotes, line by line, took a minute here.
    rows, rejects = read(f'{HEADER}\n5" pipe,1,,\n' + "a,1,,\n" * 200_000, chunk_bytes=1 << 20)
    assert len(rows) == 200_001
    assert rejects == []


@pytest.mark.parametrize("newline", ["", "\n"])
def test_an_empty_field_is_null_and_a_quoted_one_is_not(newline: str) -> None:
    assert read(f'"x",\n,"y"\n"",""\n"z",{newline}', TEXTS)[0] == [
        ("x", None),
        (None, "y"),
        ("", ""),
        ("z", None),
    ]


def test_columns_may_come_in_another_order() -> None:
    assert read(f"at,share,count,name\n{TIME},0.5,1,a\n") == ([("a", 1, 0.5, INSTANT)], [])


def test_optional_columns_that_are_missing_are_null() -> None:
    table = table_of(optional=frozenset({"share", "at"}))
    assert read("name,count\na,1\n", table) == ([("a", 1, None, None)], [])
    assert "the header is name,share,at; expected" in str(refusal("name,share,at\na,1,\n", table))


@pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)
@pytest.mark.parametrize("header", ["", f"{HEADER}\n", f"\n{HEADER}\r\n"])
def test_a_csv_without_a_header_may_have_one_all_the_same(header: str, chunk_bytes: int) -> None:
    data = header + f"a,1,0.5,{TIME}\n"
    assert read(data, table_of(has_header=False), chunk_bytes) == ([("a", 1, 0.5, INSTANT)], [])


def test_null_texts_are_the_publishers_own() -> None:
    table = table_of(null_texts=("nan", "-"))
    assert read(f"{HEADER}\n-,nan,nan,-\n", table)[0] == [(None, None, None, None)]
    (row,), _ = read(f"{HEADER}\n-,1,nan,\n")
    assert row[0] == "-" and math.isnan(row[2])


def test_a_header_without_rows_is_an_empty_table() -> None:
    assert read(f"{HEADER}\n") == ([], [])
    assert read(HEADER, table_of(has_header=False)) == ([], [])


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
def test_whole_numbers_are_kept_exactly(text: str, number: int) -> None:
    assert read(f"{HEADER}\na,{text},,\n") == ([("a", number, None, None)], [])
    # Whatever else stands in the column.
    rows, rejects = read(f"{HEADER}\na,{text},,\nb,1.0,,\nc,2,,\nd,,,\ne,9007199254740993,,\nf,oops,,\n")
    assert [row[1] for row in rows] == [number, 1, 2, None, 2**53 + 1]
    assert [reject.line for reject in rejects] == [7]


NOT_WHOLE = [
    "1.5",
    "9007199254740993e0",
    "9223372036854775808",
    "9.3e18",
    "1e400",
    "inf",
    "nan",
    "1_0",
    "x",
    "١",
]


@pytest.mark.parametrize("text", NOT_WHOLE)
def test_what_is_no_whole_number_is_rejected_and_not_rounded(text: str) -> None:
    rows, (reject,) = read(f"{HEADER}\na,{text},,\nb,4,,\n")
    assert rows == [("b", 4, None, None)]
    assert reject == Reject(2, f"column count, a BIGINT: invalid value '{text}'", f"a,{text},,")


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


@pytest.mark.parametrize(
    "text", ["2023-03-01 00:00:00", "2023-03-01", "1677600000", "2023-02-30 00:00:00Z", "x"]
)
def test_an_instant_without_an_offset_is_rejected(text: str) -> None:
    rows, (reject,) = read(f"{HEADER}\na,,,{text}\nb,,,{TIME}\n")
    assert len(rows) == 1
    assert reject.line == 2
    assert reject.reason.startswith("column at, a TIMESTAMPTZ: ")


@pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_rejects_have_their_line_reason_and_text(newline: str, chunk_bytes: int) -> None:
    lines = [
        HEADER,
        "a,1,,",
        "",
        "b,x,,",
        '"two',
        'lines",2,,',
        '"three',
        "",
        'lines",,y,',
        "c,1,2",
        "d,1,2,,3",
        " ",
        "e,5,,",
    ]
    rows, rejects = read(newline.join(lines), chunk_bytes=chunk_bytes)
    assert [row[1] for row in rows] == [1, 2, 5]
    assert rejects == [
        Reject(4, "column count, a BIGINT: invalid value 'x'", "b,x,,"),
        Reject(7, "column share, a DOUBLE: invalid value 'y'", newline.join(lines[6:9])),
        Reject(10, "3 columns; expected 4", "c,1,2"),
        Reject(11, "5 columns; expected 4", "d,1,2,,3"),
        Reject(12, "1 columns; expected 4", " "),
    ]


def test_a_row_that_is_no_utf8_is_rejected() -> None:
    rows, rejects = read(HEADER.encode() + b"\ncaf\xe9,1,,\nb,2,,\n")
    assert [row[0] for row in rows] == ["b"]
    assert rejects == [Reject(2, "column name, a VARCHAR: invalid UTF8 data", r"caf\xe9,1,,")]


@pytest.mark.parametrize("data", ["", "\n", "\r\n\r\n\n", "\ufeff"])
@pytest.mark.parametrize("table", [TABLE, TEXTS], ids=["header", "no header"])
def test_an_empty_file_is_refused(data: str, table: Table) -> None:
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
def test_a_wrong_header_is_refused(header: str, found: str) -> None:
    error = refusal(f"\n{header}\na,1,,\n")
    assert error.line == 2
    assert error.what == f"the header is {found}; expected {HEADER}"
    assert error.do.startswith("Fetch the file again")


def test_a_wrong_number_of_columns_is_refused_where_there_is_no_header() -> None:
    error = refusal("a,1,2\nb,1,2\n", table_of(has_header=False))
    assert error.line == 1
    assert error.what == f"the line has 3 columns; expected 4: {HEADER}"


def test_binary_data_is_refused() -> None:
    error = refusal(bytes(range(256)) * 2000)
    assert "the header is" in error.what
    assert str(error).isprintable()


@pytest.mark.parametrize("chunk_bytes", CHUNK_SIZES)
@pytest.mark.parametrize("last", ['"b,2,,\nc,3,,\n', 'b,2,,"\n', 'b,"2"\n,"', '"b""'])
def test_a_quote_that_is_never_closed_is_refused(last: str, chunk_bytes: int) -> None:
    error = refusal(f"{HEADER}\na,1,,\n{last}", chunk_bytes=chunk_bytes)
    assert "a quote is opened here and never closed" in str(error)
    assert error.line == 3 + last.startswith('b,"2"')


def test_a_record_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracehouse.ingest.records.LONGEST_RECORD_BYTES", 1000)
    rest = "x" * 5000
    assert "line 3: the line does not end" in str(refusal(f"{HEADER}\na,1,,\n{rest}", chunk_bytes=100))
    assert "line 3: a quote is opened" in str(refusal(f'{HEADER}\na,1,,\n"{rest}"', chunk_bytes=100))


@pytest.mark.parametrize(
    ("bad", "good", "refused"),
    [(1000, 0, True), (1000, 1, False), (1001, 9009, False), (1002, 9008, True), (1, 0, True), (1, 1, False)],
)
@pytest.mark.parametrize("bad_first", [True, False])
def test_a_file_of_which_too_much_is_rejected_is_refused(
    bad: int, good: int, refused: bool, bad_first: bool
) -> None:
    parts = ["a,x,,\n" * bad, "b,1,,\n" * good]
    data = f"{HEADER}\n" + "".join(parts if bad_first else parts[::-1])
    if refused:
        error = refusal(data)
        assert error.line == 2 + good * (not bad_first)
        assert "column count, a BIGINT: invalid value 'x'" in error.what
    else:
        rows, rejects = read(data)
        assert (len(rows), len(rejects)) == (good, bad)


def test_a_wrong_file_is_refused_before_every_row_was_tried() -> None:
    error = refusal(f"{HEADER}\n" + "a,1,,\n" * 5_000 + "a,x,,\n" * 5_000)
    assert error.line == 5_002
    assert error.what.startswith(
        "over a tenth of the first 10,001 lines do not parse; the first: column count"
    )


@pytest.mark.parametrize("data", ["a,b\n1,2\n", "\ufeffa,b", '\r\n"a",b\r\n1,2', "a,b\r1,2\r"])
def test_a_header_is_read_alone(data: str) -> None:
    assert read_header(io.BytesIO(data.encode()), "t.csv") == ["a", "b"]


texts = st.none() | st.text(st.characters(codec="utf-8"), min_size=1) | st.text('a ",\r\n\té😀\0', min_size=1)
integers = st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 2**53 + 1, -(2**53) - 1])
floats = st.none() | st.floats()
offsets = st.integers(-(23 * 60 + 59), 23 * 60 + 59).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.none() | st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=offsets)
table_rows = st.lists(st.tuples(texts, integers, floats, instants), min_size=1, max_size=12)


def line_of(row: Sequence[object]) -> str:
    """A row as Python's csv module writes it, which quotes what the end of a line is made of."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(row)
    return text.getvalue().removesuffix("\r\n")


def as_cells(row: Sequence[object], point_zero: bool, separator: str) -> list[object]:
    name, count, share, at = row
    number = f"{count}.0" if point_zero and count is not None else count
    return [name, number, share, at.isoformat(separator) if at else None]


def as_python_reads(text: str) -> list[Row]:
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


def exactly(rows: Sequence[Row]) -> list[list[str]]:
    """Rows so that equal text means equal values: NaN like NaN, -0.0 unlike 0.0, instants in UTC."""
    return [
        [cell.astimezone(UTC).isoformat() if isinstance(cell, datetime) else repr(cell) for cell in row]
        for row in rows
    ]


@settings(deadline=None)
@given(
    rows=table_rows,
    chunk_bytes=st.integers(1, 200) | st.just(CHUNK_BYTES),
    point_zero=st.booleans(),
    separator=st.sampled_from("T "),
    newline=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
    ends=st.booleans(),
)
def test_what_pythons_csv_module_writes_is_read_as_it_reads_it(
    rows: list[Row], chunk_bytes: int, point_zero: bool, separator: str, newline: str, mark: str, ends: bool
) -> None:
    cells = [as_cells(row, point_zero, separator) for row in rows]
    text = newline.join(map(line_of, [NAMES, *cells])) + newline * ends
    found, rejects = read(mark + text, chunk_bytes=chunk_bytes)
    assert rejects == []
    assert exactly(found) == exactly(as_python_reads(text))
    assert exactly(found) == exactly(rows)


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


@settings(deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.tuples(texts, integers, floats, instants), st.none() | corruptions), min_size=1
    ),
    chunk_bytes=st.integers(1, 200) | st.just(CHUNK_BYTES),
)
def test_rows_that_are_corrupted_are_rejected_and_no_other(
    rows: list[tuple[Row, object]], chunk_bytes: int
) -> None:
    rows = [(("first", 1, 1.0, INSTANT), None), *rows]
    lines = []
    for row, corrupt in rows:
        cells = as_cells(row, point_zero=False, separator=" ")
        lines.append(line_of(corrupt(cells) if corrupt else cells))
    data = "\n".join([HEADER, *lines]).encode(errors="surrogateescape")
    found, rejects = read(data, chunk_bytes=chunk_bytes)
    assert exactly(found) == exactly([row for row, corrupt in rows if not corrupt])
    corrupted = [line for line, (_, corrupt) in zip(lines, rows, strict=True) if corrupt]
    assert [reject.raw_text for reject in rejects] == [line.replace("\udce9", r"\xe9") for line in corrupted]


@settings(deadline=None)
@given(text=st.text('ab,"\n\r') | st.text('ab,,"\n'), chunk_bytes=st.integers(1, 50))
def test_any_text_is_split_as_pythons_csv_module_splits_it(text: str, chunk_bytes: int) -> None:
    text = "first,row\n" + text
    records = [record for record in csv.reader(io.StringIO(text, newline="")) if record]
    try:
        rows, rejects = read(text, TEXTS, chunk_bytes)
    except RawFileError as error:
        assert "never closed" in error.what
        return
    assert [[cell or "" for cell in row] for row in rows] == [
        record for record in records if len(record) == 2
    ]
    assert len(rejects) == sum(len(record) != 2 for record in records)


@settings(deadline=None)
@given(data=st.binary() | st.text('ab1.,"\n\r\0é').map(str.encode), chunk_bytes=st.integers(1, 50))
def test_any_bytes_are_read_or_refused_at_any_chunk_size(data: bytes, chunk_bytes: int) -> None:
    outcomes = []
    for size in (chunk_bytes, CHUNK_BYTES):
        try:
            rows, rejects = read(data, table_of(COLUMNS[:2], has_header=False), size)
            outcomes.append((exactly(rows), rejects))
        except RawFileError as error:
            outcomes.append(error.line)
    assert outcomes[0] == outcomes[1]


def test_an_offset_is_kept_as_it_was_written() -> None:
    table = Table(
        name="t",
        comment="",
        grain="",
        source="",
        csv_name=r"t\.csv",
        columns=(Column("at", "TIMESTAMPTZ", "", offset_name="offset"), Column("count", "BIGINT", "")),
    )
    data = b"at,count\n2023-03-01 08:00:00+08:00,1\n2023-03-01T00:00:00Z,2.0\n,3\n2023-03-01 00:00:00,4\n"
    [batch] = read_csv(io.BytesIO(data), table, "t.csv")
    instant = datetime(2023, 3, 1, tzinfo=UTC)
    assert batch.rows.to_pylist() == [
        {"at": instant, "count": 1, "offset": "+08:00"},
        {"at": instant, "count": 2, "offset": "Z"},
        {"at": None, "count": 3, "offset": None},
    ]
    [reject] = batch.rejects
    assert (reject.line, reject.reason) == (
        5,
        "column at, a TIMESTAMPTZ: invalid value '2023-03-01 00:00:00'",
    )
