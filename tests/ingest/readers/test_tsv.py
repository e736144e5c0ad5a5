"""TSVs: each line is kept or rejected as the same fields in a CSV are."""

import gzip
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from added_trace import added_trace
from few_files import ingest, only, tar_gz
from hypothesis import given
from hypothesis import strategies as st

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers import Reader, ReaderInput, Reject
from tracehouse.ingest.readers.csv import READERS

CSV, TSV = READERS

COLUMNS = (
    Column("name", "VARCHAR", "Text", required=True),
    Column("count", "BIGINT", "Integer"),
    Column("share", "DOUBLE", "Float", null_texts=(r"\N",)),
    Column("at", "TIMESTAMPTZ", "Instant", offset_name="utc_offset"),
)
TABLE = Table(name="t", comment="", grain="", source="", columns=COLUMNS, file_name=r"t\.tsv")
NAMES = ("name", "count", "share", "at")
GOOD = ('a, "b"', "3", "0.5", "2023-03-01 00:00:00+08:00")


def lines(*rows: tuple[str, ...], separator: str = "\t", end: str = "\n") -> bytes:
    return "".join(separator.join(row) + end for row in (NAMES, *rows)).encode()


def read(data: bytes, reader: Reader = TSV, chunk_bytes: int = 0) -> tuple[list[dict], list[Reject]]:
    batches = list(reader.read(ReaderInput(io.BytesIO(data), TABLE, "t.tsv", chunk_bytes=chunk_bytes)))
    rejects = [reject for batch in batches for reject in batch.rejects]
    return [row for batch in batches for row in batch.rows.to_pylist()], rejects


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\r"])
@pytest.mark.parametrize("chunk_bytes", [1, 20, 4 << 20])
def test_each_line_is_a_row(end: str, chunk_bytes: int) -> None:
    rows, rejects = read(lines(GOOD, ("é", "", r"\N", ""), end=end), chunk_bytes=chunk_bytes)
    assert [tuple(row.values())[:3] for row in rows] == [('a, "b"', 3, 0.5), ("é", None, None)]
    assert [row["utc_offset"] for row in rows] == ["+08:00", None]
    assert rejects == []


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("a", "3", "0.5"), "3 columns; expected 4"),
        ((*GOOD, ""), "5 columns; expected 4"),
        (("", "3", "0.5", ""), "column name (VARCHAR): it is empty"),
        (("a", "1_000", "0.5", ""), "column count (BIGINT): invalid value '1_000'"),
        (("a", "3", "nan", ""), "column share (DOUBLE): not a finite number"),
    ],
)
def test_other_lines_are_rejected_with_their_numbers(row: tuple[str, ...], reason: str) -> None:
    rows, rejects = read(lines(*[GOOD] * 9, row, GOOD))
    assert len(rows) == 10
    [reject] = rejects
    assert (reject.line, reject.raw_text) == (11, "\t".join(row))
    assert reject.reason.startswith(reason)


def test_a_cut_last_line_is_rejected() -> None:
    rows, rejects = read(lines(*[GOOD] * 10)[:-1])
    assert (len(rows), [reject.line for reject in rejects]) == (9, [11])
    assert "truncated" in rejects[0].reason


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"name,count,share,at\n", "the header is name,count,share,at; expected"),
        (lines(*[GOOD[:3]] * 2, GOOD), "2 of its 3 rows do not fit, more than a tenth; the first: 3 columns"),
        (b"name" + 20_000 * b"\tx" + b"\n", "the line has 20,001 columns; at most 20,000"),
        (lines() + 30_000 * b"x\n", "do not fit, more than a tenth"),
    ],
)
def test_a_file_that_is_not_of_the_table_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(RawFileError, match=message):
        read(data)


FIELD = st.text(st.characters(exclude_characters='\t\r\n,"', exclude_categories=["Cs"]), max_size=8)
ROW = st.tuples(FIELD, *[st.one_of(st.sampled_from(["", "7", "-2.5", "1e3", GOOD[3]]), FIELD)] * 3)


@given(st.lists(ROW, max_size=6), st.integers(1, 200))
def test_rows_and_rejects_are_those_of_the_same_csv(rows: list[tuple[str, ...]], chunk_bytes: int) -> None:
    """With enough good lines that neither file is refused. A text begins each line, so that none is blank."""
    written = [("x" + row[0], *row[1:]) for row in rows] + [("b", *GOOD[1:])] * 60
    expected = read(lines(*written, separator=","), CSV)
    found = read(lines(*written), chunk_bytes=chunk_bytes)
    assert found[0] == expected[0]
    assert [(one.line, one.reason) for one in found[1]] == [(one.line, one.reason) for one in expected[1]]


PROBE = """
from tracehouse.ingest.declarations import Column, Table, Trace

GPU = Table(
    name="gpu", comment="GPUs", grain="one row per name", source="here", file_name="gpu[.]tsv",
    columns=(Column("name", "VARCHAR", "GPU"), Column("power", "DOUBLE", "Power", unit="W")), key=("name",),
)
TRACE = Trace("probe", "Probe", "Publisher", "", "", "", "", (GPU,))
"""
GPUS = b"power\tname\n250\tb\nmany\tc\n" + b"".join(b"300\ta%d\n" % number for number in range(10))


@pytest.fixture
def probe(tmp_path: Path) -> Iterator[None]:
    """An additional trace with a TSV."""
    with added_trace(tmp_path, "probe", PROBE):
        yield


DUMPS = {
    "a file": {"gpu.tsv": GPUS},
    "a compressed file": {"gpu.tsv.gz": gzip.compress(GPUS)},
    "an archive": {"gpus.tar.gz": tar_gz({"x/gpu.tsv": GPUS})},
}


@pytest.mark.parametrize("dump", DUMPS)
@pytest.mark.usefixtures("probe")
def test_ingest_reads_files_and_archives(dump: str, tmp_path: Path) -> None:
    conversion = only(ingest(tmp_path, DUMPS[dump]))
    rows = pq.read_table([tmp_path / "warehouse" / file.path for file in conversion.files]).to_pylist()
    assert {(row["name"], row["power"]) for row in rows} == {("b", 250), *((f"a{n}", 300) for n in range(10))}
    assert [file.rows for file in conversion.rejected] == [1]
