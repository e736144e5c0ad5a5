"""Write a table's rows as sorted Parquet files.

The rows of a raw file become sorted runs, one Parquet file each, which are written while the next rows are
read. A sort of the whole table would have to wait for the last row, and to keep or spill all earlier rows.
Queries on a few sorted runs are as fast as on a fully sorted table: most raw files are nearly in order
already, and the statistics of each Parquet file give its range of values. Polars sorts and Arrow writes.
Together they take less time than DuckDB, and Parquet written by Polars is larger.

The rows of a partition become one sorted file. DuckDB sorts them: it spills rows that exceed its memory to
the disk, so that a partition may have any size.
"""

import re
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Self

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.core.errors import FETCH_OR_MOVE, RawFileError
from tracehouse.ingest.store.files import ARROW_OPTIONS, PARQUET_OPTIONS, StagedFile, stage

RUN_BYTES = 48 << 20
# DuckDB's own row group size: one thread reads one row group at a time.
ROW_GROUP_ROWS = 122_880

_WRITTEN_AT_ONCE = 2
_NUMBER_BYTES = 8
# The number of sampled rows of a run that decides whether a column gets a dictionary.
_ROWS_TESTED = 8192
_MOST_DISTINCT_SHARE = 0.5
# Encodings of columns whose values hardly repeat, so that they have no dictionary. Floats never get one: if
# their values repeat, so do the bytes in the split streams, which zstd compresses.
_ENCODINGS = {
    pa.large_string(): "DELTA_LENGTH_BYTE_ARRAY",
    pa.int64(): "DELTA_BINARY_PACKED",
    pa.float64(): "BYTE_STREAM_SPLIT",
}
# DuckDB's memory to sort a partition. Reading a file may take another 0.8 GB, so that the total stays below
# 2 GB.
_MEMORY = "700MB"
# DuckDB raises the same exception type if it cannot move rows to the disk. Only the text differs.
_NO_MEMORY = re.compile(r"(could not allocate|failed to (pin|allocate)) .*block")
# A sort uses all cores and all of this memory, so partitions are sorted one after another.
_ONE_AT_A_TIME = threading.Lock()


class RunWriter:
    """Writes batches of one schema as `folder/name.0.parquet` and so on, in the order of `order_by`.

    A run contains about `run_bytes` of values; at most three runs are in memory at once. The sort is stable,
    so that the same raw files give the same bytes.
    """

    def __init__(self, order_by: Sequence[str], folder: Path, name: str, run_bytes: int = RUN_BYTES) -> None:
        self._order_by, self._folder, self._name, self._run_bytes = order_by, folder, name, run_bytes
        self._rows: list[pl.DataFrame] = []
        self._bytes = self._runs = 0
        self._written: list[StagedFile] = []
        self._writing: deque[Future[StagedFile]] = deque()
        self._writers = ThreadPoolExecutor(_WRITTEN_AT_ONCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writers.shutdown()

    def add(self, batch: pa.Table) -> None:
        """Add a batch. If `run_bytes` are collected, a thread sorts and writes them."""
        rows = pl.DataFrame(batch)
        self._rows.append(rows)
        self._bytes += sum(map(_column_bytes, rows))
        if self._bytes >= self._run_bytes:
            self._write_run()

    def finish(self) -> list[StagedFile]:
        """Write the remaining rows, and return all files in order; none if there was no batch."""
        if self._rows:
            self._write_run()
        return [*self._written, *(last.result() for last in self._writing)]

    def _write_run(self) -> None:
        if len(self._writing) == _WRITTEN_AT_ONCE:
            self._written.append(self._writing.popleft().result())
        path = self._folder / f"{self._name}.{self._runs}.parquet"
        self._writing.append(self._writers.submit(_write, pl.concat(self._rows), self._order_by, path))
        self._rows, self._bytes, self._runs = [], 0, self._runs + 1


def write_runs(
    batches: Iterable[pa.Table], order_by: Sequence[str], folder: Path, name: str, run_bytes: int = RUN_BYTES
) -> list[StagedFile]:
    """Write batches with a `RunWriter`. Raises the exceptions of `batches`."""
    with RunWriter(order_by, folder, name, run_bytes) as writer:
        for batch in batches:
            writer.add(batch)
        return writer.finish()


def _column_bytes(column: pl.Series) -> int:
    """Return the number of bytes of the values. For numbers and texts, it does not depend on their chunks."""
    longer = int(column.estimated_size()) if column.dtype.is_nested() else 0
    if column.dtype == pl.String:
        longer = int(column.str.len_bytes().sum())
    return longer + _NUMBER_BYTES * len(column)


def _write(run: pl.DataFrame, order_by: Sequence[str], path: Path) -> StagedFile:
    rows = run.sort(order_by, maintain_order=True, nulls_last=True)
    del run
    tested = rows.gather_every(max(1, rows.height // _ROWS_TESTED))
    with_dictionary = [
        column.name for column in tested if _repeats_often(column) or _may_be_misread(rows[column.name])
    ]
    table = rows.to_arrow()
    del rows
    without = [field for field in table.schema if field.name not in with_dictionary]
    pq.write_table(
        table,
        path,
        row_group_size=ROW_GROUP_ROWS,
        **ARROW_OPTIONS,
        use_dictionary=with_dictionary,
        column_encoding={field.name: _ENCODINGS[field.type] for field in without if field.type in _ENCODINGS},
        write_batch_size=ROW_GROUP_ROWS,
        # From the stored Arrow schema, readers would restore Polars' wide types, such as large_string.
        store_schema=False,
    )
    return stage(path, table.num_rows)


def _repeats_often(column: pl.Series) -> bool:
    """Return whether the values of a column repeat so often that a dictionary makes the file smaller."""
    if column.dtype.is_nested():
        return True
    return not column.dtype.is_float() and column.n_unique() <= _MOST_DISTINCT_SHARE * len(column)


def _may_be_misread(column: pl.Series) -> bool:
    """Return whether a row group of a column contains NULLs and only one distinct text.

    Without a dictionary, DuckDB 2.0.0 evaluates `is null` as true for every row of such a row group.
    """
    if column.dtype != pl.String or not column.null_count():
        return False
    parts = (column.slice(start, ROW_GROUP_ROWS) for start in range(0, len(column), ROW_GROUP_ROWS))
    return any(part.null_count() and part.min() == part.max() for part in parts)


def write_partition(
    batches: Iterator[pa.Table], order_by: Sequence[str], folder: Path, name: str, file: str
) -> list[StagedFile]:
    """Write batches of one schema as `folder/name.0.parquet`, and return it; no file if there is no batch.

    Raises the exceptions of `batches`, and RawFileError about `file` if the rows are too long to be sorted.
    """
    path = folder / f"{name}.0.parquet"
    with _ONE_AT_A_TIME:
        first = next(batches, None)
        if first is None:
            return []
        try:
            _sort(chain([first], batches), first.schema, order_by, path)
        except duckdb.OutOfMemoryException as error:
            reason = str(error).splitlines()[0]
            if not _NO_MEMORY.search(reason):
                raise
            what = f"its rows are too long to be sorted in memory ({reason})"
            raise RawFileError(file, what, FETCH_OR_MOVE) from error
    return [stage(path, pq.read_metadata(path).num_rows)]


def _sort(batches: Iterator[pa.Table], schema: pa.Schema, order_by: Sequence[str], path: Path) -> None:
    failures: list[BaseException] = []
    # DuckDB would replace an exception of the reader by one of its own.
    reader = pa.RecordBatchReader.from_batches(schema, _catch_failure(batches, failures))
    with duckdb.connect(
        config={"memory_limit": _MEMORY, "temp_directory": str(path.with_suffix(".sort"))}
    ) as connection:
        connection.register("batches", reader)
        rows = f"from batches order by {', '.join(map(_order_term, order_by))}"
        target = str(path).replace("'", "''")
        connection.execute(f"copy ({rows}) to '{target}' ({PARQUET_OPTIONS})")
    if failures:
        raise failures[0]


def _catch_failure(batches: Iterator[pa.Table], failures: list[BaseException]) -> Iterator[pa.RecordBatch]:
    try:
        for batch in batches:
            yield from batch.to_batches()
    except BaseException as failure:
        failures.append(failure)


def _order_term(name: str) -> str:
    direction = "desc" if name.startswith("-") else "asc"
    return f'"{name.removeprefix("-")}" {direction} nulls last'
