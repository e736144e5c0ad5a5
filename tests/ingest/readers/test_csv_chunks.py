"""The fast parser gives the rows and rejects of the careful parser, or leaves the chunk to that parser."""

import io
import random
from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_seed import DEPTH

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers import Content, Reject
from tracehouse.ingest.readers.csv_chunks import ChunkParser
from tracehouse.ingest.readers.formats import plain_csv
from tracehouse.ingest.readers.formats.plain_csv import CHUNK_BYTES
from tracehouse.ingest.readers.lines import Chunk

NAME, COUNT, SHARE = (
    Column("name", "VARCHAR", ""),
    Column("count", "BIGINT", ""),
    Column("share", "DOUBLE", ""),
)
COLUMNS = (NAME, COUNT, SHARE)

Read = tuple[list[tuple[str, ...]], list[Reject]]


def fast(data: bytes, columns: Sequence[Column] = COLUMNS) -> list[tuple[object, ...]] | None:
    """Return the rows of one chunk, or None if the fast parser leaves it to the careful parser."""
    rows = ChunkParser(tuple(columns), True, "t.csv").parse_plain(Chunk(1, data, data.count(b"\n")))
    return None if rows is None else [tuple(row.values()) for row in rows.to_pylist()]


def read(data: bytes, columns: Sequence[Column], chunk_bytes: int = CHUNK_BYTES) -> Read | str:
    table = Table("t", "", "", "", r"t\.csv", tuple(columns), has_header=False)
    try:
        batches = list(plain_csv.read(Content(io.BytesIO(data), table, "t.csv", chunk_bytes=chunk_bytes)))
    except RawFileError as refusal:
        return str(refusal)
    # Compare texts: NaN equals NaN, and -0.0 differs from 0.0.
    rows = [tuple(map(repr, row.values())) for batch in batches for row in batch.rows.to_pylist()]
    return rows, [reject for batch in batches for reject in batch.rejects]


def read_carefully(data: bytes, columns: Sequence[Column], chunk_bytes: int = CHUNK_BYTES) -> Read | str:
    """Return the result of Arrow's typed parser, and assert that conversion from texts gives the same."""
    with patch.object(ChunkParser, "parse_plain", return_value=None):
        typed = read(data, columns, chunk_bytes)
        with patch.object(ChunkParser, "parse_typed", return_value=None):
            assert typed == read(data, columns, chunk_bytes)
    return typed


def test_fast_parser_reads_plain_lines() -> None:
    lines = "a,1,0.5\nb,-2,1e-3\n,,\né😀,+3,\n#c,007,.5\n".encode()
    assert fast(lines) == [
        ("a", 1, 0.5),
        ("b", -2, 0.001),
        (None, None, None),
        ("é😀", 3, None),
        ("#c", 7, 0.5),
    ]


@pytest.mark.parametrize("place", [1, 2], ids=["BIGINT", "DOUBLE"])
@pytest.mark.parametrize(
    ("text", "as_integer", "as_float"),
    [
        ("+1", 1, 1.0),
        ("-0", 0, -0.0),
        ("9223372036854775807", 2**63 - 1, 2.0**63),
        ("-9223372036854775808", -(2**63), -(2.0**63)),
        # Left to the careful parser, which rejects them or knows their notation.
        ("1.5", None, 1.5),
        ("1.0", None, 1.0),
        ("1e5", None, 1e5),
        ("1_000", None, None),
        ("0x10", None, None),
        ("nan", None, None),
        ("-inf", None, None),
        ("1e400", None, None),
        ("9223372036854775808", None, 2.0**63),
        ("1 ", None, None),
        (" 1", None, None),
        # Polars reads these as NULL.
        (" ", None, None),
        ("\t", None, None),
        ("\v1", None, None),
        ("1\0", None, None),
        ("١", None, None),
    ],
)
def test_reads_number_as_careful_parser_does_or_leaves_it(
    place: int, text: str, as_integer: int | None, as_float: float | None
) -> None:
    expected = as_integer if place == 1 else as_float
    cells = ["x", "", ""]
    cells[place] = text
    line = ",".join(cells).encode() + b"\n"
    for before in (0, 1, 50_000):
        found = fast(b"x,1,1\n" * before + line + b"x,1,1\n" * 20)
        if expected is None:
            assert found is None
        else:
            assert found
            assert repr(found[before][place]) == repr(expected)
    many = b"x,1,1\n" * 20 + line
    assert read(many, COLUMNS) == read_carefully(many, COLUMNS)


SHORT = (b"x,1\n", b"x\n", b"\n", b"x,\n", b",\n")
LONG = (b"x,1,2,\n", b"x,1,2,3\n", b",,,\n")


@pytest.mark.parametrize("line", [*SHORT, *LONG])
@pytest.mark.parametrize("other", [b"y,1,1\n", b"y,1,\n", b",,\n"])
def test_never_pads_or_truncates_lines(line: bytes, other: bytes) -> None:
    for before in (0, 1, 70_000):
        assert fast(other * before + line + other * 30) is None
    # One line has a field too few, the other one too many.
    assert fast(b"y,1,1\n" * 9 + b"x,1\n" + b"x,1,2,3\n") is None
    if line != b"\n":
        rows, [reject] = read(other * 20 + line + other * 20, COLUMNS)
        assert (len(rows), reject.line) == (40, 21)


@pytest.mark.parametrize(
    "data",
    [
        b'"x",1,1\n',
        b'x"y,1,1\n',
        b"x,1,1\r\n",
        b"x\r,1,1\n",
        b"x\0,1,1\n",
        b"\xff,1,1\n",
        b"\xc3,1,1\n\xa9,1,1\n",
        b"\xef\xbb\xbfx,1,1\n",
        b"\x1f\x8b,1,1\n",
        *(b"x" + second + b",1,1\n" for second in (b"\x01", b"^", b"\x9c", b"\xda")),
        b"\x28\xb5\x2f\xfd,1,1\n",
    ],
)
def test_leaves_notations_that_polars_reads_differently(data: bytes) -> None:
    assert fast(data) is None
    many = data + b"y,1,1\n" * 20
    assert read(many, COLUMNS) == read_carefully(many, COLUMNS)


def test_leaves_missing_required_value_to_careful_parser() -> None:
    columns = (NAME, replace(COUNT, required=True))
    assert fast(b"a,1\n,2\n", columns) == [("a", 1), (None, 2)]
    assert fast(b"a,1\na,\n", columns) is None


@pytest.mark.parametrize(
    "columns",
    [
        (NAME,),
        (NAME, Column("at", "TIMESTAMPTZ", "")),
        (NAME, Column("flag", "BOOLEAN", "")),
        (NAME, replace(COUNT, null_texts=("-",))),
    ],
)
def test_leaves_columns_that_polars_reads_differently(columns: tuple[Column, ...]) -> None:
    data = b",".join([b""] * len(columns)) + b"\n"
    assert fast(data * 20, columns) is None


fields = {
    "VARCHAR": st.text("ab é\"'#", max_size=3) | st.sampled_from(["", "x^", "\x1f\x8b", "nan", "\ufeff"]),
    "BIGINT": st.integers(-(2**64), 2**64).map(str) | st.text("+-01. e", max_size=5),
    "DOUBLE": st.floats().map(str) | st.text("+-019.eE ,", max_size=6) | st.sampled_from(["1e400", "0x1p3"]),
}
good = {
    "VARCHAR": st.text("abcé-", max_size=4),
    "BIGINT": st.just("") | st.integers(-(2**63), 2**63 - 1).map(str),
    "DOUBLE": st.just("") | st.floats(allow_nan=False, allow_infinity=False).map(str),
}


def lines_of(columns: Sequence[Column], odd: int) -> st.SearchStrategy[list[str]]:
    """Draw valid lines, and a few that may be invalid."""

    def line(of: dict[str, st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
        return st.tuples(*(of[column.type] for column in columns)).map(",".join)

    whole = line(good)
    ragged = st.lists(st.sampled_from(["", "", "1", "a"]), max_size=5).map(",".join)
    mixed = st.one_of(*[whole] * odd, line(fields), ragged)
    return st.lists(mixed, max_size=12)


tables = st.lists(st.sampled_from([NAME, COUNT, SHARE]), min_size=2, max_size=4).map(
    lambda columns: tuple(replace(column, name=f"{column.name}{n}") for n, column in enumerate(columns))
)
files = st.tuples(tables, st.sampled_from([1, 9])).flatmap(
    lambda drawn: st.tuples(st.just(drawn[0]), lines_of(*drawn))
)


@settings(max_examples=300 * DEPTH)
@given(
    file=files,
    chunk_bytes=st.integers(1, 60) | st.just(CHUNK_BYTES),
    newline=st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"]),
    ends=st.booleans(),
)
@example(file=((NAME, COUNT), ["a, ", "b,1"]), chunk_bytes=CHUNK_BYTES, newline="\n", ends=True)
def test_both_parsers_agree_on_small_csv(
    file: tuple[tuple[Column, ...], list[str]], chunk_bytes: int, newline: str, ends: bool
) -> None:
    columns, lines = file
    # Enough valid lines that the reader rejects the others instead of the whole file.
    filler = [",".join("" for _ in columns)] * (10 * len(lines) + 10)
    data = (newline.join([*lines, *filler]) + newline * ends).encode()
    assert read(data, columns, chunk_bytes) == read_carefully(data, columns, chunk_bytes)


def test_both_parsers_agree_on_damaged_file() -> None:
    rng = random.Random(7)
    clean = b"".join(b"job-%d,%d,%.3f\n" % (n, n, n / 7) for n in range(200))
    read_fast = 0
    for _ in range(300):
        data = bytearray(clean)
        for _ in range(rng.randrange(4)):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(3)] = rng.choice(
                [b",", b"\n", b"\r", b'"', b" ", b"\0", b"e", b"\xff"]
            )
        data += b"" if data.endswith(b"\n") else b"\n"
        read_fast += fast(bytes(data)) is not None
        assert read(bytes(data), COLUMNS) == read_carefully(bytes(data), COLUMNS)
    assert read_fast > 50
