"""JSON lines: each line is kept or rejected according to Python's json module and the rules of the types."""

import gzip
import io
import json
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from added_trace import added_trace
from few_files import ingest, quiet, tar_gz, write
from hypothesis import given
from hypothesis import strategies as st

from tracehouse.core.errors import RawFileError
from tracehouse.core.text import LONGEST_TEXT
from tracehouse.engines.duckdb.write import base_tables
from tracehouse.ingest import pipeline
from tracehouse.ingest.declarations import Column, Table, all_traces
from tracehouse.ingest.readers import ReaderInput, Reject, limit_rejects
from tracehouse.ingest.readers.json import read_lines
from tracehouse.ingest.store import records

TABLE = Table(
    name="request",
    comment="",
    grain="",
    source="",
    file_name=r"request\.jsonl",
    columns=(
        Column("id", "VARCHAR", "", required=True),
        Column("tokens", "BIGINT", ""),
        Column("at", "UNIX_MS", ""),
        Column("models", "VARCHAR[]", "", null_texts=("none",)),
        Column("detail", "JSON", ""),
        Column("ok", "BOOLEAN", ""),
        Column("submitted", "TIMESTAMPTZ", "", offset_name="utc_offset"),
    ),
    optional=frozenset({"ok", "submitted"}),
)
FIRST = '{"id": "a", "tokens": 3, "at": 1662858720000, "models": ["x", "y"], "detail": {"n": 1.50}}'
AT = datetime(2022, 9, 11, 1, 12, tzinfo=UTC)
FIRST_ROW = ("a", 3, AT, ["x", "y"], '{"n": 1.50}', None, None, None)


def read(data: str | bytes, chunk_bytes: int = 4 << 20) -> tuple[list[tuple], list[Reject]]:
    stream = io.BytesIO(data.encode() if isinstance(data, str) else data)
    batches = list(
        limit_rejects(
            read_lines(ReaderInput(stream, TABLE, "request.jsonl", chunk_bytes=chunk_bytes)), "request.jsonl"
        )
    )
    rows = [tuple(row.values()) for batch in batches for row in batch.rows.to_pylist()]
    return rows, [reject for batch in batches for reject in batch.rejects]


def read_among_good(line: str | bytes) -> tuple[list[tuple], list[Reject]]:
    line = line.encode() if isinstance(line, str) else line
    rows, rejects = read(b"\n".join([FIRST.encode(), line, *[FIRST.encode()] * 20]))
    assert rows[0] == FIRST_ROW and rows[-20:] == [FIRST_ROW] * 20
    return rows[1:-20], rejects


def test_each_line_is_a_row() -> None:
    second = (
        '{"submitted": "2022-09-11 09:12:00+08:00", "detail": "x", "models": "none", "at": null,'
        ' "tokens": "8", "id": "é\\u2028\\n", "ok": true}'
    )
    expected = [FIRST_ROW, ("é\u2028\n", 8, None, None, '"x"', True, AT, "+08:00")]
    for newline in ("\n", "\r\n", "\n\n"):
        for chunk_bytes in (1, 50, 4 << 20):
            assert read(newline.join([FIRST, second]), chunk_bytes) == (expected, [])
            assert read(newline.join([FIRST, second, ""]), chunk_bytes) == (expected, [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (FIRST[:-1], "not JSON: Expecting ',' delimiter, at character"),
        ("[1]", "not a JSON object"),
        (FIRST.replace("3", "NaN"), "not JSON: NaN"),
        (FIRST.replace("3", "7.5"), "column tokens (BIGINT): invalid value '7.5'"),
        (FIRST.replace("3", "9223372036854775808"), "column tokens (BIGINT): invalid value"),
        (FIRST.replace("3", "true"), "column tokens (BIGINT): invalid value 'true'"),
        (FIRST.replace("3", "[7]"), "column tokens (BIGINT): a list or an object"),
        (FIRST.replace('"a"', '{"x": 1}'), "column id (VARCHAR): a list or an object"),
        (FIRST.replace('"a"', "null"), "column id (VARCHAR): it is empty"),
        (FIRST.replace('"a"', '"a\\u0000"'), "column id (VARCHAR): a zero byte"),
        (FIRST.replace('"a"', '"\\ud800"'), "column id (VARCHAR): invalid UTF-8"),
        (FIRST.replace('["x", "y"]', "[1]"), "column models (VARCHAR[]): not a list of this type: '[1]'"),
        (FIRST.replace('"tokens": 3, ', ""), "no value for tokens"),
        (FIRST.replace('"tokens"', '"id": "b", "tokens"'), "an object that has a name twice"),
        (FIRST.replace('{"n": 1.50}', '{"n": 1, "n": 2}'), "an object that has a name twice"),
        (FIRST.replace('"tokens"', '"more": 1, "tokens"'), "a value for more, which is not a column"),
        (FIRST.replace('{"n": 1.50}', "[" * 100_000 + "]" * 100_000), "nested too deeply"),
        (FIRST.replace('"a"', f'"{"a" * (4 << 20)}"'), "longer than 4 MiB"),
        (FIRST.replace('{"n": 1.50}', "[" * 600 + "]" * 600), "nested too deeply"),
        (FIRST.encode().replace(b'"a"', b'"\xff"'), "invalid UTF-8"),
    ],
)
def test_rejects_invalid_line_with_reason(line: str | bytes, reason: str) -> None:
    rows, [reject] = read_among_good(line)
    assert rows == []
    assert reject.line == 2
    assert reason in reject.reason
    whole = line if isinstance(line, str) else line.decode(errors="backslashreplace")
    assert reject.raw_text == (whole if len(whole) <= LONGEST_TEXT else whole[:LONGEST_TEXT] + "…")


@pytest.mark.parametrize("data", ["id,tokens\na,1\n", '{"id": "a"}\n', "[]\n", "\n"])
def test_rejects_file_of_another_format(data: str) -> None:
    with pytest.raises(RawFileError, match=r"^request\.jsonl"):
        read(data)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@given(
    found=st.lists(values, min_size=1, max_size=5), is_ascii=st.booleans(), chunk_bytes=st.integers(1, 500)
)
def test_keeps_json_as_python_reads_it(found: list[object], is_ascii: bool, chunk_bytes: int) -> None:
    lines = [
        json.dumps({"id": "a", "tokens": 1, "at": 0, "models": [], "detail": value}, ensure_ascii=is_ascii)
        for value in found
    ]
    rows, rejects = read("\n".join(lines), chunk_bytes)
    assert rejects == []
    assert [None if row[4] is None else json.loads(row[4]) for row in rows] == found


PROBE = """
from tracehouse.ingest.declarations import Column, Table, Trace

REQUEST = Table(
    name="request", comment="Requests", grain="one row per id", source="here", file_name=r"request\\\\.jsonl",
    archive_stem="probe", columns=(
        Column("id", "VARCHAR", "Request"), Column("at", "UNIX_S", "Arrival"),
        Column("wall", "TIMESTAMP", "Arrival, zone unknown"), Column("ok", "BOOLEAN", "Served"),
        Column("models", "VARCHAR[]", "Models"), Column("detail", "JSON", "Detail"),
    ),
    key=("id",), order_by=("at",),
)
NODE = Table(
    name="node", comment="Nodes", grain="one row per name", source="here", file_name=r"node\\\\.csv",
    archive_stem="probe", columns=(Column("name", "VARCHAR", "Node"), Column("sizes", "BIGINT[]", "Sizes")),
)
TRACE = Trace("probe", "Probe", "Publisher", "", "", "", "", (REQUEST, NODE))
"""
REQUESTS = (
    b'{"id": "b", "at": 1662858720.5, "wall": "2022-09-11 01:12:00", "ok": true,'
    b' "models": [], "detail": [1]}\n'
    b'{"id": "a", "at": 1662858720, "wall": null, "ok": false, "models": ["x"], "detail": null}\n'
)
NODES = b'name,sizes\nn1,"[1, 2]"\n'
PROBE_ROWS = [
    ("a", AT, None, False, ["x"], None),
    ("b", AT.replace(microsecond=500_000), datetime(2022, 9, 11, 1, 12), True, [], "[1]"),
]


@pytest.fixture
def probe(tmp_path: Path) -> Iterator[None]:
    """An additional trace: JSON lines and a CSV in one archive."""
    with added_trace(tmp_path, "probe", textwrap.dedent(PROBE).replace("\\\\", "\\")):
        yield


@pytest.mark.usefixtures("probe")
def test_stores_tables_of_one_archive_with_their_types(tmp_path: Path) -> None:
    outcome = ingest(tmp_path, {"probe.tar.gz": tar_gz({"x/request.jsonl": REQUESTS, "x/node.csv": NODES})})
    assert (outcome.problems, outcome.unrecognised, outcome.notes) == ((), (), ())
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        probe = [all_traces()["probe"]]
        base_tables.create_base_tables(
            connection, probe, outcome.conversions, (tmp_path / "warehouse").absolute(), copy_tables=False
        )
        assert connection.sql("from probe.request").fetchall() == PROBE_ROWS
        assert connection.sql("from probe.node").fetchall() == [("n1", [1, 2])]


@pytest.mark.usefixtures("probe")
@pytest.mark.parametrize("unfinished", ["node", "none"])
def test_truncated_archive_after_an_interrupted_ingest_changes_no_table(
    unfinished: str, tmp_path: Path
) -> None:
    """The interrupted ingest finished one or both tables. The truncated archive lacks one of them."""
    older = gzip.decompress(tar_gz({"request.jsonl": REQUESTS, "node.csv": NODES}))
    published = ingest(tmp_path, {"probe.tar": older})
    requests = REQUESTS + REQUESTS.replace(b'"b"', b'"c"').replace(b'"a"', b'"d"')
    newer = gzip.decompress(tar_gz({"request.jsonl": requests, "node.csv": NODES + b"n2,\n"}))
    raw = write(tmp_path / "raw", {"probe.tar": newer})
    interrupted = pipeline.convert([raw], tmp_path / "warehouse", [], quiet)
    assert len(interrupted.converted) == 2
    for conversion in interrupted.converted:
        if conversion.table == unfinished:
            records.discard(tmp_path / "warehouse", conversion.key)
    outcome = ingest(tmp_path, {"probe.tar": newer[:1100]})
    assert outcome.problems
    rows = {conversion.table: conversion.rows for conversion in outcome.conversions}
    assert rows == {conversion.table: conversion.rows for conversion in published.conversions}
