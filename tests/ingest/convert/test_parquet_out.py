"""Parquet files: each row is stored once, files are sorted or clustered, and equal rows give equal bytes."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_seed import DEPTH

from tracehouse.ingest.convert.parquet_out import ROW_GROUP_ROWS, write_runs
from tracehouse.ingest.declare.column_types import TYPES
from tracehouse.ingest.declare.trace import Column
from tracehouse.ingest.dump.readers.values import arrow_type

SCHEMA = pa.schema([("job", pa.string()), ("start", pa.int64())])
ROW = st.tuples(st.sampled_from([None, "", "a", "b", "é"]), st.none() | st.integers(-3, 3))


def batch(rows: list[tuple]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def rows_of(path: Path) -> list[tuple]:
    return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]


def nulls_last(row: tuple) -> list[tuple]:
    return [(value is None, value) for value in row]


def is_sorted(path: Path) -> bool:
    """Return whether the file says that it is sorted."""
    return bool(pq.read_metadata(path).row_group(0).sorting_columns)


@settings(max_examples=30 * DEPTH)
@given(batches=st.lists(st.lists(ROW, max_size=5), min_size=1, max_size=5), run_bytes=st.integers(1, 100))
def test_writes_each_row_once_in_sorted_files(
    batches: list[list[tuple]], run_bytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    runs = write_runs(map(batch, batches), ("job",), folder, "t", run_bytes)
    assert sorted(run.path for run in runs) == sorted(folder.iterdir())
    assert [run.rows for run in runs] == [len(rows_of(run.path)) for run in runs]
    remaining = [row for rows in batches for row in rows]
    for run in runs:
        assert pq.read_schema(run.path).equals(SCHEMA)
        expected, remaining = remaining[: run.rows], remaining[run.rows :]
        jobs = [job for job, _ in expected]
        if len(list(groupby(jobs))) > len(set(jobs)):
            # Python's sort is stable. Equal rows must also keep their order in the file.
            expected.sort(key=lambda row: nulls_last(row[:1]))
            assert is_sorted(run.path)
        assert rows_of(run.path) == expected
    assert remaining == []


@pytest.mark.parametrize(
    ("column", "values", "is_sorted_by_us"),
    [
        ("job", ["b", "b", "a", "c"], False),
        ("job", ["b", "a", "b"], True),
        ("job", [None, None, "a"], False),
        ("job", [None, "a", None], True),
        # Queries select a range of numbers, but not of texts.
        ("start", [1, 1, 2], False),
        ("start", [2, 1], True),
        ("start", [1, None], True),
    ],
)
def test_sorts_only_what_is_not_clustered(
    column: str, values: list, is_sorted_by_us: bool, tmp_path: Path
) -> None:
    kind = SCHEMA.field(column).type
    batches = [
        pa.table({"file": ["f"] * len(part), column: pa.array(part, kind), "row": range(len(part))})
        for part in (values[:1], values[1:])
    ]
    (run,) = write_runs(batches, ("file", column), tmp_path, "t")
    stored = pq.read_table(run.path)[column].to_pylist()
    assert is_sorted(run.path) == is_sorted_by_us
    assert (stored == values) == (not is_sorted_by_us or values == [1, None])


def test_table_without_rows_is_one_empty_file(tmp_path: Path) -> None:
    (run,) = write_runs([batch([])], ("job",), tmp_path, "t")
    assert run.rows == 0
    assert pq.read_schema(run.path).equals(SCHEMA)


THREADS = """
import hashlib, io, sys
from pathlib import Path
import polars
from tracehouse.ingest.declare.trace import Column, Table
from tracehouse.ingest.convert.parquet_out import write_runs
from tracehouse.ingest.dump.readers import ReaderInput
from tracehouse.ingest.dump.readers.csv import read

columns = (Column("job", "VARCHAR", ""), Column("start", "BIGINT", ""), Column("share", "DOUBLE", ""))
table = Table("t", "", "", "", r"t\\.csv", columns, has_header=False)
lines = (f"job-{n * 7919 % 3_011},{n if n % 5 else ''},{n / 7}\\n" for n in range(50_000))
content = ReaderInput(io.BytesIO("".join(lines).encode()), table, "t.csv", chunk_bytes=200_000)
runs = write_runs((batch.rows for batch in read(content)), ("job",), Path(sys.argv[1]), "t", 400_000)
print(polars.thread_pool_size(), *(run.sha256 for run in runs))
"""


def test_number_of_threads_does_not_change_bytes(tmp_path: Path) -> None:
    printed = []
    for threads in ("1", "3"):
        folder = tmp_path / threads
        folder.mkdir()
        command = [sys.executable, "-c", THREADS, str(folder)]
        environment = {**os.environ, "POLARS_MAX_THREADS": threads}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, encoding="utf-8")
        printed.append(done.stdout.split())
    assert [count for count, *_ in printed] == ["1", "3"]
    assert printed[0][1:] == printed[1][1:]
    assert len(printed[0]) > 3


VALUES = {
    pa.string(): "é",
    pa.int64(): -(2**63),
    pa.float64(): 0.1,
    pa.bool_(): True,
    pa.timestamp("us", tz="UTC"): datetime(2023, 3, 1, tzinfo=UTC),
    pa.timestamp("us"): datetime(2023, 3, 1, 0, 0, 0, 1),
    pa.list_(pa.string()): ["a", None, ""],
    pa.list_(pa.int64()): [1, -(2**63)],
}


def test_stores_every_type(tmp_path: Path) -> None:
    assert {arrow_type(Column("c", kind, "")) for kind in TYPES} == set(VALUES)
    schema = pa.schema([(str(kind), kind) for kind in VALUES])
    values = {str(kind): [value, None] for kind, value in VALUES.items()}
    rows = pa.table(values, schema)
    (run,) = write_runs([rows], (str(pa.int64()),), tmp_path, "t")
    assert pq.read_table(run.path).to_pylist() == rows.to_pylist()
    assert pq.read_schema(run.path).equals(schema)
    # Without the Arrow schema in the metadata, so that all readers see the same types.
    assert pq.read_metadata(run.path).metadata is None
    described = duckdb.sql(f"describe from '{run.path}'").fetchall()
    stored = {arrow_type(column): column.type for column in (Column("c", kind, "") for kind in TYPES)}
    duckdb_names = {"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
    assert [row[1] for row in described] == [duckdb_names.get(stored[kind], stored[kind]) for kind in VALUES]


@pytest.mark.parametrize("kind", [pa.string(), pa.list_(pa.string()), pa.list_(pa.int64())])
def test_file_of_long_values_has_few_rows(kind: pa.DataType, tmp_path: Path) -> None:
    value: object = [7] * 1000 if kind == pa.list_(pa.int64()) else "x" * 8000
    value = [value] if kind == pa.list_(pa.string()) else value
    batches = [pa.table({"value": pa.array([value] * 10, kind)})] * 8
    runs = write_runs(batches, (), tmp_path, "t", run_bytes=150_000)
    assert [run.rows for run in runs] == [20] * 4


def test_error_of_a_batch_stops_writing(tmp_path: Path) -> None:
    def batches() -> Iterator[pa.Table]:
        yield batch([("a", 1)])
        raise ValueError("cut short")

    before = threading.active_count()
    with pytest.raises(ValueError, match="cut short"):
        write_runs(batches(), ("job",), tmp_path, "t", run_bytes=1)
    assert threading.active_count() == before


def test_finds_nulls_in_row_group_of_one_text(tmp_path: Path) -> None:
    several = [(f"{number:06}", number) for number in range(ROW_GROUP_ROWS)]
    one = [("z", ROW_GROUP_ROWS + number) for number in range(100)]
    (run,) = write_runs([batch([*several, *one, (None, -1)])], ("job",), tmp_path, "t")
    found = duckdb.sql(f"select start from '{run.path}' where job is null").fetchall()
    assert found == [(-1,)]
