"""Write a table's rows as sorted runs, one Parquet file each, while the next rows are read.

Rows are sorted within a run, not across runs: a sort of the whole table would have to wait for the last row,
and to keep or spill all earlier rows. Queries on a few sorted runs are as fast as on a fully sorted table:
most raw files are nearly in order already, and the statistics of each Parquet file give its range of values.

Polars sorts and Arrow writes. Together they take less time than DuckDB, and Parquet written by Polars is
larger.
"""

import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from tracehouse.ingest.store.files import StagedFile, stage

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


def write_runs(
    batches: Iterable[pa.Table], order_by: Sequence[str], folder: Path, name: str, run_bytes: int = RUN_BYTES
) -> list[StagedFile]:
    """Write batches of one schema as `folder/name.0.parquet` and so on; no file if there is no batch.

    A run contains about `run_bytes` of values; at most three runs are in memory at once. The sort is stable,
    so that the same raw files give the same bytes. Returns the files in order. Raises the exceptions of
    `batches`.
    """
    written: list[StagedFile] = []
    with ThreadPoolExecutor(_WRITTEN_AT_ONCE) as writers:
        writing: deque[Future[StagedFile]] = deque()
        for number, run in enumerate(_collect_runs(batches, run_bytes)):
            if len(writing) == _WRITTEN_AT_ONCE:
                written.append(writing.popleft().result())
            writing.append(writers.submit(_write, run, order_by, folder / f"{name}.{number}.parquet"))
            del run
        written += [last.result() for last in writing]
    return written


@dataclass
class RunWriter:
    """Writes batches, which are added one by one, as `write_runs` does. It keeps one run in memory."""

    order_by: Sequence[str]
    folder: Path
    name: str
    run_bytes: int = RUN_BYTES
    _written: list[StagedFile] = field(default_factory=list)
    _batches: list[pa.Table] = field(default_factory=list)
    _batch_bytes: int = 0

    def add(self, batch: pa.Table) -> None:
        """Add a batch, and write a run if `run_bytes` are collected."""
        self._batches.append(batch)
        self._batch_bytes += batch.nbytes
        if self._batch_bytes >= self.run_bytes:
            self._write()

    def finish(self) -> list[StagedFile]:
        """Write the remaining rows, and return all files."""
        if self._batches:
            self._write()
        return self._written

    def _write(self) -> None:
        name = f"{self.name}.{len(self._written)}"
        self._written += write_runs(self._batches, self.order_by, self.folder, name, sys.maxsize)
        self._batches, self._batch_bytes = [], 0


def _collect_runs(batches: Iterable[pa.Table], run_bytes: int) -> Iterator[pl.DataFrame]:
    gathered: list[pl.DataFrame] = []
    held_bytes = 0
    for batch in batches:
        rows = pl.DataFrame(_decode_dictionaries(batch))
        gathered.append(rows)
        held_bytes += _value_bytes(rows)
        if held_bytes >= run_bytes:
            yield pl.concat(gathered)
            gathered, held_bytes = [], 0
    if held_bytes or gathered:
        yield pl.concat(gathered)


def _decode_dictionaries(rows: pa.Table) -> pa.Table:
    """Return the rows with dictionary columns decoded."""
    kinds = (f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in rows.schema)
    return rows.cast(pa.schema(list(zip(rows.column_names, kinds, strict=True))))


def _value_bytes(rows: pl.DataFrame) -> int:
    """Return the number of bytes of the values. It does not depend on how a parser's threads chunked them."""
    return sum(_column_bytes(column) for column in rows)


def _column_bytes(column: pl.Series) -> int:
    # The estimate depends on the chunks. The fast CSV parsers return no lists, and other parsers split lists
    # into the same chunks every time.
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
    pq.write_table(
        table,
        path,
        row_group_size=ROW_GROUP_ROWS,
        version="2.6",
        data_page_version="2.0",
        compression="zstd",
        compression_level=1,
        use_dictionary=with_dictionary,
        column_encoding=_encodings(table.schema, with_dictionary),
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


def _encodings(schema: pa.Schema, with_dictionary: Sequence[str]) -> dict[str, str]:
    """Return the encodings of the columns without a dictionary by name."""
    without = (field for field in schema if field.name not in with_dictionary)
    return {field.name: _ENCODINGS[field.type] for field in without if field.type in _ENCODINGS}
