"""Write a table's rows as sorted runs, one Parquet file each, while the next rows are read.

Rows are sorted within a run, not across: a sort of the whole table would have to wait for its last row, and
to keep or spill all that come before. A table of a few runs answers as fast as a sorted one, because the
statistics of each file say what ranges it holds, and most dumps come nearly in order.

Polars sorts and Arrow writes: together they take less than DuckDB, and Polars' own Parquet is larger.
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
# What DuckDB reads at once in one thread.
ROW_GROUP_ROWS = 122_880

_WRITTEN_AT_ONCE = 2
_NUMBER_BYTES = 8
# A sample of this many rows of a run decides whether a dictionary pays.
_ROWS_TESTED = 8192
_MOST_DISTINCT_SHARE = 0.5
# Those of values that hardly repeat. Of floats none do, or do so in bytes that split streams show.
_ENCODINGS = {
    pa.large_string(): "DELTA_LENGTH_BYTE_ARRAY",
    pa.int64(): "DELTA_BINARY_PACKED",
    pa.float64(): "BYTE_STREAM_SPLIT",
}


def write_runs(
    batches: Iterable[pa.Table],
    order_by: Sequence[str],
    folder: Path,
    name: str,
    run_bytes: int = RUN_BYTES,
) -> list[StagedFile]:
    """Write batches of one schema as `folder/name.0.parquet` and so on; no file where there is no batch.

    Runs hold about `run_bytes` of values; at most three are held at once. Rows that compare equal stay as
    they came, so that the same raw files give the same bytes. Raises what reading a batch raises.
    """
    written: list[StagedFile] = []
    with ThreadPoolExecutor(_WRITTEN_AT_ONCE) as writers:
        writing: deque[Future[StagedFile]] = deque()
        for number, run in enumerate(_runs(batches, run_bytes)):
            if len(writing) == _WRITTEN_AT_ONCE:
                written.append(writing.popleft().result())
            writing.append(writers.submit(_write, run, order_by, folder / f"{name}.{number}.parquet"))
            del run
        written += [last.result() for last in writing]
    return written


@dataclass
class RunWriter:
    """Writes batches that come one by one in runs, as `write_runs` does. It holds one run."""

    order_by: Sequence[str]
    folder: Path
    name: str
    run_bytes: int = RUN_BYTES
    _written: list[StagedFile] = field(default_factory=list)
    _held: list[pa.Table] = field(default_factory=list)
    _held_bytes: int = 0

    def add(self, batch: pa.Table) -> None:
        """Add a batch."""
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes >= self.run_bytes:
            self._write()

    def finish(self) -> list[StagedFile]:
        """Write what is held, and return all files."""
        if self._held:
            self._write()
        return self._written

    def _write(self) -> None:
        name = f"{self.name}.{len(self._written)}"
        self._written += write_runs(self._held, self.order_by, self.folder, name, sys.maxsize)
        self._held, self._held_bytes = [], 0


def _runs(batches: Iterable[pa.Table], run_bytes: int) -> Iterator[pl.DataFrame]:
    gathered: list[pl.DataFrame] = []
    held_bytes = 0
    for batch in batches:
        rows = pl.DataFrame(_decoded(batch))
        gathered.append(rows)
        held_bytes += _value_bytes(rows)
        if held_bytes >= run_bytes:
            yield pl.concat(gathered)
            gathered, held_bytes = [], 0
    if held_bytes or gathered:
        yield pl.concat(gathered)


def _decoded(rows: pa.Table) -> pa.Table:
    """The same rows without dictionaries."""
    kinds = (f.type.value_type if pa.types.is_dictionary(f.type) else f.type for f in rows.schema)
    return rows.cast(pa.schema(list(zip(rows.column_names, kinds, strict=True))))


def _value_bytes(rows: pl.DataFrame) -> int:
    """How many bytes the values take, in whatever pieces the threads of a parser left them."""
    return sum(_column_bytes(column) for column in rows)


def _column_bytes(column: pl.Series) -> int:
    # Lists, which no fast parser makes, are in the same pieces every time.
    longer = int(column.estimated_size()) if column.dtype.is_nested() else 0
    if column.dtype == pl.String:
        longer = int(column.str.len_bytes().sum())
    return longer + _NUMBER_BYTES * len(column)


def _write(run: pl.DataFrame, order_by: Sequence[str], path: Path) -> StagedFile:
    rows = run.sort(order_by, maintain_order=True, nulls_last=True)
    del run
    tested = rows.gather_every(max(1, rows.height // _ROWS_TESTED))
    with_dictionary = [
        column.name for column in tested if _repeats(column) or _may_be_misread(rows[column.name])
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
        # Readers would take the widths of Polars' types from it.
        store_schema=False,
    )
    return stage(path, table.num_rows)


def _repeats(column: pl.Series) -> bool:
    """Whether a column of some rows has values that come again and again, so that a dictionary pays."""
    if column.dtype.is_nested():
        return True
    return not column.dtype.is_float() and column.n_unique() <= _MOST_DISTINCT_SHARE * len(column)


def _may_be_misread(column: pl.Series) -> bool:
    """Whether a row group of a column has one text and NULLs.

    DuckDB 2.0.0 finds every row of it `is null` where it has no dictionary.
    """
    if column.dtype != pl.String or not column.null_count():
        return False
    parts = (column.slice(start, ROW_GROUP_ROWS) for start in range(0, len(column), ROW_GROUP_ROWS))
    return any(part.null_count() and part.min() == part.max() for part in parts)


def _encodings(schema: pa.Schema, with_dictionary: Sequence[str]) -> dict[str, str]:
    """How the columns without a dictionary are encoded."""
    without = (field for field in schema if field.name not in with_dictionary)
    return {field.name: _ENCODINGS[field.type] for field in without if field.type in _ENCODINGS}
