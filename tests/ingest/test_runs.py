"""Sorted runs: every row once, sorted in its file, the same bytes for the same rows."""

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracehouse.ingest.prefetch import prefetched
from tracehouse.ingest.runs import write_runs

SCHEMA = pa.schema([("job", pa.string()), ("start", pa.int64())])
ROW = st.tuples(st.sampled_from([None, "", "a", "b", "é"]), st.none() | st.integers(-3, 3))


def batch(rows: list[tuple]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def rows_of(path: Path) -> list[tuple]:
    return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]


def nulls_last(row: tuple) -> list[tuple]:
    return [(value is None, value) for value in row]


@settings(deadline=None, max_examples=30)
@given(batches=st.lists(st.lists(ROW, max_size=5), min_size=1, max_size=5), run_bytes=st.integers(1, 100))
def test_every_row_is_in_one_run_and_each_run_is_sorted(
    batches: list[list[tuple]], run_bytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    with duckdb.connect() as connection:
        runs = write_runs(map(batch, batches), ("job",), connection, folder, "t", run_bytes)
    assert sorted(run.path for run in runs) == sorted(folder.iterdir())
    assert [run.rows for run in runs] == [len(rows_of(run.path)) for run in runs]
    remaining = [row for rows in batches for row in rows]
    for run in runs:
        assert pq.read_schema(run.path).equals(SCHEMA)
        came, remaining = remaining[: run.rows], remaining[run.rows :]
        # Python's sort is stable, as the order of equal rows has to be.
        assert rows_of(run.path) == sorted(came, key=lambda row: nulls_last(row[:1]))
    assert remaining == []


def test_a_table_without_rows_is_one_empty_file(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        (run,) = write_runs([batch([])], ("job",), connection, tmp_path, "t")
    assert run.rows == 0
    assert pq.read_schema(run.path).equals(SCHEMA)


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    rows = [("a", number) for number in range(300_000)]
    checksums = set()
    for name in "xyz":
        with duckdb.connect() as connection:
            (run,) = write_runs([batch(rows)], ("job",), connection, tmp_path, name)
        checksums.add(run.sha256)
    assert len(checksums) == 1


def test_a_batch_that_cannot_be_read_ends_it(tmp_path: Path) -> None:
    def batches() -> Iterator[pa.Table]:
        yield batch([("a", 1)])
        raise ValueError("cut short")

    before = threading.active_count()
    with duckdb.connect() as connection, pytest.raises(ValueError, match="cut short"):
        write_runs(batches(), ("job",), connection, tmp_path, "t", run_bytes=1)
    assert threading.active_count() == before


def test_items_are_made_one_ahead_and_in_order() -> None:
    made = []

    def items() -> Iterator[int]:
        for number in range(5):
            made.append((number, threading.current_thread()))
            yield number

    assert list(prefetched(items())) == [0, 1, 2, 3, 4]
    assert [number for number, _ in made] == [0, 1, 2, 3, 4]
    assert threading.current_thread() not in {thread for _, thread in made}


def test_what_making_an_item_raises_comes_in_its_turn() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("cut short")

    coming = prefetched(items())
    assert next(coming) == 1
    with pytest.raises(ValueError, match="cut short"):
        next(coming)


def test_no_thread_is_left_when_the_items_are_not_wanted() -> None:
    before = threading.active_count()
    coming = prefetched(iter(range(5)))
    assert next(coming) == 0
    coming.close()
    assert threading.active_count() == before
