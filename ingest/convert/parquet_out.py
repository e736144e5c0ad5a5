"""Write a table's rows as Parquet files, each in order.

The rows of a raw file become runs, one Parquet file each, which are written while the next rows are read. A
sort of the whole table would have to wait for the last row, and to keep or spill all earlier rows. Queries on
a few runs are as fast as on a fully sorted table: most raw files are nearly in order already, and the
statistics of each Parquet file give its range of values. Runs that are in order already are not sorted: a
sort takes a third of the processor time of an ingest. The metadata of a sorted file say so
(`sorting_columns`). Arrow sorts and writes: that takes less time than DuckDB, and a sort by Polars takes more
processor time.

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
from typing import Self, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tracehouse.core.errors import FETCH_OR_MOVE, RawFileError
from tracehouse.ingest.store.files import ARROW_OPTIONS, PARQUET_OPTIONS, StagedFile, stage

Rows = TypeVar("Rows", pa.Table, pa.Array)

RUN_BYTES = 48 << 20
# DuckDB's own row group size: one thread reads one row group at a time.
ROW_GROUP_ROWS = 122_880

_WRITTEN_AT_ONCE = 2
# The number of sampled rows of a run that decides whether it is sorted, and which columns get a dictionary.
_ROWS_TESTED = 8192
_MOST_DISTINCT_SHARE = 0.5
# Encodings of columns whose values hardly repeat, so that they have no dictionary. Floats never get one: if
# their values repeat, so do the bytes in the split streams, which zstd compresses.
_ENCODINGS = {
    pa.string(): "DELTA_LENGTH_BYTE_ARRAY",
    pa.int64(): "DELTA_BINARY_PACKED",
    pa.float64(): "BYTE_STREAM_SPLIT",
}
# DuckDB raises the same exception type if it cannot move rows to the disk. Only the text differs.
_NO_MEMORY = re.compile(r"(could not allocate|failed to (pin|allocate)) .*block")
# A sort uses all cores and all of this memory, so partitions are sorted one after another.
_ONE_AT_A_TIME = threading.Lock()


class RunWriter:
    """Writes batches of one schema as `folder/name.0.parquet` and so on.

    A run contains about `run_bytes` of values; at most three runs are in memory at once. A run is sorted by
    `order_by`, unless its rows are clustered already (`_is_clustered`): then they keep their order in the raw
    file. The sort is stable, so that the same raw files give the same bytes.
    """

    def __init__(self, order_by: Sequence[str], folder: Path, name: str, run_bytes: int = RUN_BYTES) -> None:
        self._order_by, self._folder, self._name, self._run_bytes = order_by, folder, name, run_bytes
        self._batches: list[pa.Table] = []
        self._bytes = self._runs = 0
        self._written: list[StagedFile] = []
        self._writing: deque[Future[StagedFile]] = deque()
        self._writers = ThreadPoolExecutor(_WRITTEN_AT_ONCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writers.shutdown()

    def add(self, batch: pa.Table) -> None:
        """Add a batch. If `run_bytes` are collected, a thread writes them."""
        self._batches.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= self._run_bytes:
            self._write_run()

    def finish(self) -> list[StagedFile]:
        """Write the remaining rows, and return all files in order; none if there was no batch."""
        if self._batches:
            self._write_run()
        return [*self._written, *(last.result() for last in self._writing)]

    def _write_run(self) -> None:
        if len(self._writing) == _WRITTEN_AT_ONCE:
            self._written.append(self._writing.popleft().result())
        path = self._folder / f"{self._name}.{self._runs}.parquet"
        run = pa.concat_tables(self._batches)
        self._writing.append(self._writers.submit(_write, run, self._order_by, path))
        self._batches, self._bytes, self._runs = [], 0, self._runs + 1


def write_runs(
    batches: Iterable[pa.Table], order_by: Sequence[str], folder: Path, name: str, run_bytes: int = RUN_BYTES
) -> list[StagedFile]:
    """Write batches with a `RunWriter`. Raises the exceptions of `batches`."""
    with RunWriter(order_by, folder, name, run_bytes) as writer:
        for batch in batches:
            writer.add(batch)
        return writer.finish()


def _write(rows: pa.Table, order_by: Sequence[str], path: Path) -> StagedFile:
    sorting = None
    if not _is_clustered(rows, order_by):
        ascending = [(name, "ascending") for name in order_by]
        rows = rows.sort_by(ascending)
        sorting = pq.SortingColumn.from_ordering(rows.schema, ascending)
    tested = _sample(rows)
    with_dictionary = [
        name for name in rows.column_names if _repeats_often(tested[name]) or _may_be_misread(rows[name])
    ]
    without = [field for field in rows.schema if field.name not in with_dictionary]
    pq.write_table(
        rows,
        path,
        row_group_size=ROW_GROUP_ROWS,
        **ARROW_OPTIONS,
        use_dictionary=with_dictionary,
        column_encoding={field.name: _ENCODINGS[field.type] for field in without if field.type in _ENCODINGS},
        write_batch_size=ROW_GROUP_ROWS,
        # The stored Arrow schema would be the only metadata, and readers need none.
        store_schema=False,
        sorting_columns=sorting,
    )
    return stage(path, rows.num_rows)


def _is_clustered(rows: pa.Table, order_by: Sequence[str]) -> bool:
    """Return whether a sort would help no query: rows of each text are adjacent, numbers and times in order.

    The first column of `order_by` that is not constant decides. Queries select the rows of one text, but a
    range of numbers or times.
    """
    for name in order_by:
        values = rows[name]
        if pa.types.is_string(values.type):
            texts = _without_repeats(pa.chunked_array(map(_without_repeats, values.chunks), values.type))
            if len(texts) > 1:
                # Only a sample: to count all distinct texts takes a tenth of an ingest's processor time.
                sample = pc.unique(_sample(texts))
                return pc.sum(pc.is_in(texts, sample)).as_py() == len(sample)
        elif values.null_count:
            return False
        else:
            numbers = values.to_numpy()
            if len(numbers) and numbers.min() != numbers.max():
                return bool((numbers[1:] >= numbers[:-1]).all())
    return True


def _sample(rows: Rows) -> Rows:
    """Return about `_ROWS_TESTED` rows at equal distances, or all if there are fewer."""
    places = np.arange(0, len(rows), max(1, len(rows) // _ROWS_TESTED))
    # `pa.array` would import pandas if it is installed, which takes half a second.
    return rows.take(pa.Array.from_buffers(pa.int64(), len(places), [None, pa.py_buffer(places)]))


def _without_repeats(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the values that differ from the one before."""
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    return pc.run_end_encode(whole).values


def _repeats_often(values: pa.ChunkedArray) -> bool:
    """Return whether the values of a column repeat so often that a dictionary makes the file smaller."""
    if pa.types.is_nested(values.type):
        return True
    is_float = pa.types.is_floating(values.type)
    return not is_float and pc.count_distinct(values, "all").as_py() <= _MOST_DISTINCT_SHARE * len(values)


def _may_be_misread(values: pa.ChunkedArray) -> bool:
    """Return whether a row group of a column contains NULLs and only one distinct text.

    Without a dictionary, DuckDB 2.0.0 evaluates `is null` as true for every row of such a row group.
    """
    if not pa.types.is_string(values.type) or not values.null_count:
        return False
    parts = (values.slice(start, ROW_GROUP_ROWS) for start in range(0, len(values), ROW_GROUP_ROWS))
    return any(part.null_count and len(set(pc.min_max(part).as_py().values())) == 1 for part in parts)


def write_partition(
    batches: Iterator[pa.Table],
    order_by: Sequence[str],
    folder: Path,
    name: str,
    file: str,
    memory_bytes: int,
) -> list[StagedFile]:
    """Write batches of one schema as `folder/name.0.parquet`, and return it; no file if there is no batch.

    DuckDB sorts them in `memory_bytes`, and spills the rest.

    Raises the exceptions of `batches`, and RawFileError about `file` if the rows are too long to be sorted.
    """
    path = folder / f"{name}.0.parquet"
    with _ONE_AT_A_TIME:
        first = next(batches, None)
        if first is None:
            return []
        try:
            _sort(chain([first], batches), first.schema, order_by, path, memory_bytes)
        except duckdb.OutOfMemoryException as error:
            reason = str(error).splitlines()[0]
            if not _NO_MEMORY.search(reason):
                raise
            what = f"its rows are too long to be sorted in memory ({reason})"
            raise RawFileError(file, what, FETCH_OR_MOVE) from error
    return [stage(path, pq.read_metadata(path).num_rows)]


def _sort(
    batches: Iterator[pa.Table], schema: pa.Schema, order_by: Sequence[str], path: Path, memory_bytes: int
) -> None:
    failures: list[BaseException] = []
    # DuckDB would replace an exception of the reader by one of its own.
    reader = pa.RecordBatchReader.from_batches(schema, _catch_failure(batches, failures))
    with duckdb.connect(
        config={"memory_limit": f"{memory_bytes}B", "temp_directory": str(path.with_suffix(".sort"))}
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
