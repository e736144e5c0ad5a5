"""Write the cells of wide CSVs as rows of Parquet, in blocks of lines, sorted by variable and index.

A query for an hour of one device or of all devices then reads few row groups. The columns variable and index
repeat in every block. With the encodings of this module, they take almost no space.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers.values import arrow_type, convert
from tracehouse.ingest.store.files import StagedFile, stage

# Four times DuckDB's own row group size, because each row group has a dictionary. It is large if values have
# three decimals.
ROW_GROUP_ROWS = 491_520
FILE_BYTES = 64 << 20
# The number does not depend on the machine's cores, so that the same raw files give the same Parquet files.
WRITERS = 4

# The number of cached arrays, of two to four megabytes each: enough for the row groups of one block.
_CACHED_ARRAYS = 24
_DISTINCT_SHARE_OF_MEASUREMENTS = 1 / 3


@dataclass(frozen=True)
class _Block:
    """Lines of a wide CSV in the order of their indexes, with one array of cells for each variable."""

    variables: tuple[str, ...]
    index: pa.Array
    cells: tuple[pa.Array, ...]

    @classmethod
    def of(cls, lines: pa.Table) -> "_Block":
        """Return the block of a batch whose columns are the index and then each variable."""
        order = pc.sort_indices(lines.column(0))
        is_sorted = pc.all(pc.equal(order, pa.array(np.arange(len(order), dtype=np.uint64)))).as_py()
        # Combine the chunks of each variable: with thousands of columns, the overhead of small arrays costs
        # more than their values.
        columns = [column.combine_chunks() for column in lines.columns]
        index, *cells = columns if is_sorted else [column.take(order) for column in columns]
        return cls(tuple(lines.column_names[1:]), index, tuple(cells))


@dataclass
class _Writer:
    """The Parquet file that one thread is writing, and the files that it has finished."""

    table: Table
    folder: Path
    name: str
    keys: Mapping[str, str]
    finished: list[StagedFile] = field(default_factory=list)
    parquet: pq.ParquetWriter | None = None
    rows: int = 0

    @property
    def path(self) -> Path:
        """The path of the current file, or of the next one if none is open."""
        return self.folder / f"{self.name}.{len(self.finished)}.parquet"


def write_cells(
    blocks: Iterable[pa.Table], table: Table, folder: Path, name: str, keys: Mapping[str, str] | None = None
) -> list[StagedFile]:
    """Write the cells of wide lines as rows to `folder/name.<n>.<n>.parquet`; no file if there are no lines.

    `keys` are the values of the table's keys, which become columns. Returns the files. Raises the exceptions
    of `blocks`.
    """
    keys = keys or {}
    table = replace(table, columns=(*(key for key in table.keys if key.name in keys), *table.columns))
    writers = [_Writer(table, folder, f"{name}.{number}", keys) for number in range(WRITERS)]
    threads = [ThreadPoolExecutor(1) for _ in writers]
    try:
        waiting: list[Future[None] | None] = [None] * WRITERS
        for number, lines in zip(cycle(range(WRITERS)), blocks, strict=False):
            if before := waiting[number]:
                before.result()
            waiting[number] = threads[number].submit(_write, writers[number], lines)
        for last in filter(None, waiting):
            last.result()
    finally:
        for thread in threads:
            thread.shutdown()
        for writer in writers:
            _close(writer)
    return [file for writer in writers for file in writer.finished]


def _write(writer: _Writer, lines: pa.Table) -> None:
    block = _Block.of(lines)
    for rows in _row_groups(block, writer.table, writer.keys):
        if writer.parquet is None:
            writer.parquet = _parquet(writer.path, writer.table, _are_measurements(block))
        writer.parquet.write_table(rows, rows.num_rows)
        writer.rows += rows.num_rows
    if writer.parquet and writer.path.stat().st_size >= FILE_BYTES:
        _close(writer)


def _close(writer: _Writer) -> None:
    if writer.parquet:
        writer.parquet.close()
        writer.finished.append(stage(writer.path, writer.rows))
        writer.parquet, writer.rows = None, 0


def _parquet(path: Path, table: Table, are_measurements: bool) -> pq.ParquetWriter:
    wide = table.wide
    assert wide
    # The distances between indexes are mostly equal, so that delta encoding makes them small. Values that
    # hardly repeat compress better as split byte streams than with a dictionary.
    encodings = (
        {wide.index: "DELTA_BINARY_PACKED"} if _is_number(_schema(table).field(wide.index).type) else {}
    )
    if are_measurements:
        encodings[wide.value] = "BYTE_STREAM_SPLIT"
    names = [column.name for column in table.columns]
    return pq.ParquetWriter(
        path,
        _schema(table),
        version="2.6",
        data_page_version="2.0",
        compression="zstd",
        compression_level=1,
        use_dictionary=[name for name in names if name not in encodings],
        column_encoding=encodings,
        write_statistics=[name for name in names if name != wide.variable],
        write_batch_size=ROW_GROUP_ROWS,
    )


def _schema(table: Table) -> pa.Schema:
    return pa.schema([(column.name, _stored_type(column)) for column in table.columns])


def _stored_type(column: Column) -> pa.DataType:
    kind = arrow_type(column)
    return pa.dictionary(pa.int32(), kind) if kind == pa.string() else kind


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_timestamp(kind)


def _are_measurements(lines: _Block) -> bool:
    """Return whether the values of a row group hardly repeat, as measurements with many digits."""
    variables = max(1, ROW_GROUP_ROWS // max(1, len(lines.index)))
    tested = pa.concat_arrays(lines.cells[:variables]).drop_null()
    return len(tested.unique()) > _DISTINCT_SHARE_OF_MEASUREMENTS * len(tested)


def _row_groups(lines: _Block, table: Table, keys: Mapping[str, str]) -> Iterator[pa.Table]:
    """Yield the cells as rows: one table per row group, with as many variables as fit into it."""
    count = len(lines.index)
    if not count:
        return
    assert table.wide
    [variable] = [column for column in table.columns if column.name == table.wide.variable]
    names = _typed(lines.variables, variable).to_pylist()
    in_order = sorted(range(len(names)), key=names.__getitem__)
    variables_at_once = min(max(1, ROW_GROUP_ROWS // count), len(in_order))
    index = lines.index.cast(_schema(table).field(table.wide.index).type)
    indexes = index.take(pa.array(np.tile(np.arange(count), variables_at_once)))
    for start in range(0, len(in_order), variables_at_once):
        group = in_order[start : start + variables_at_once]
        yield _rows(lines, indexes[: count * len(group)], group, table, keys)


def _rows(
    lines: _Block, indexes: pa.Array, group: Sequence[int], table: Table, keys: Mapping[str, str]
) -> pa.Table:
    wide = table.wide
    assert wide
    names = [lines.variables[number] for number in group]
    matches = [re.fullmatch(wide.variable_pattern, name) for name in names]
    made = {wide.index: indexes, wide.value: pa.concat_arrays([lines.cells[number] for number in group])}
    for column in table.columns:
        if column.name not in made:
            texts: Sequence[str | None]
            if column.name in keys:
                texts = [keys[column.name]] * len(names)
            elif column.name == wide.variable:
                texts = names
            else:
                texts = [match.groupdict().get(column.name) if match else None for match in matches]
            made[column.name] = _repeated(texts, len(lines.index), column)
    schema = _schema(table)
    return pa.Table.from_arrays([made[name] for name in schema.names], schema=schema)


def _repeated(texts: Sequence[str | None], count: int, column: Column) -> pa.Array:
    """Return an array of the column's type in which each text is repeated `count` times."""
    values = _typed(texts, column)
    if values.type == pa.string():
        encoded = values.dictionary_encode()
        return pa.DictionaryArray.from_arrays(
            _repeat(tuple(encoded.indices.to_pylist()), count, pa.int32()), encoded.dictionary
        )
    return _repeat(tuple(values.to_pylist()), count, values.type)


def _typed(texts: Sequence[str | None], column: Column) -> pa.Array:
    return convert(pa.array(texts, pa.string()).cast(pa.binary()), column)[0]


# The cache helps because the next block has the same variables in the same order.
@lru_cache(maxsize=_CACHED_ARRAYS)
def _repeat(values: tuple[int | float | None, ...], count: int, kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind).take(pa.array(np.repeat(np.arange(len(values)), count)))
