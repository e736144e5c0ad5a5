"""Write the cells of wide CSVs as rows of Parquet, in blocks of lines, sorted by variable and index.

A query for an hour of one device or of all devices then reads few row groups. The columns variable and index
repeat in every block. With the encodings of this module, they take almost no space.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tracehouse.ingest.declare.trace import Column, Table
from tracehouse.ingest.dump.readers.values import arrow_type, convert
from tracehouse.ingest.store.files import ARROW_OPTIONS, StagedFile, stage

# Four times DuckDB's own row group size, because each row group has a dictionary. It is large if values have
# three decimals.
ROW_GROUP_ROWS = 491_520
FILE_BYTES = 64 << 20
# The number does not depend on the machine's cores, so that the same raw files give the same Parquet files.
WRITERS = 4

_DISTINCT_SHARE_OF_MEASUREMENTS = 1 / 3


def write_cells(
    blocks: Iterable[pa.Table], table: Table, folder: Path, name: str, keys: Mapping[str, str] | None = None
) -> list[StagedFile]:
    """Write the cells of wide lines as rows to `folder/name.<n>.<n>.parquet`; no file if there are no lines.

    A block has the index of its lines and then a column for each variable. `keys` are the values of the
    table's keys, which become columns. Returns the files. Raises the exceptions of `blocks`.
    """
    writers = [_Writer(table, keys or {}, folder, f"{name}.{number}") for number in range(WRITERS)]
    threads = [ThreadPoolExecutor(1) for _ in writers]
    try:
        waiting: list[Future[None] | None] = [None] * WRITERS
        for number, block in zip(cycle(range(WRITERS)), blocks, strict=False):
            if before := waiting[number]:
                before.result()
            waiting[number] = threads[number].submit(writers[number].add, block)
        for last in filter(None, waiting):
            last.result()
    finally:
        for thread in threads:
            thread.shutdown()
        for writer in writers:
            writer.close()
    return [file for writer in writers for file in writer.finished]


class _Writer:
    """Writes the Parquet files of one thread, one after the other. `finished` are those that are complete."""

    def __init__(self, table: Table, keys: Mapping[str, str], folder: Path, name: str) -> None:
        assert table.wide
        self.finished: list[StagedFile] = []
        self._wide, self._keys, self._folder, self._name = table.wide, keys, folder, name
        columns = (*(key for key in table.keys if key.name in keys), *table.columns)
        self._columns = {column.name: column for column in columns}
        self._schema = pa.schema([(column.name, _stored_type(column)) for column in columns])
        self._parquet: pq.ParquetWriter | None = None
        self._rows = 0

    @property
    def _path(self) -> Path:
        return self._folder / f"{self._name}.{len(self.finished)}.parquet"

    def add(self, block: pa.Table) -> None:
        """Write the cells of a block as row groups."""
        if not block.num_rows:
            return
        # Combine the chunks of each variable: with thousands of columns, the overhead of small arrays costs
        # more than their values.
        block = block.sort_by(block.column_names[0]).combine_chunks()
        for rows in self._row_groups(block):
            if self._parquet is None:
                self._parquet = self._open(block)
            self._parquet.write_table(rows, rows.num_rows)
            self._rows += rows.num_rows
        if self._path.stat().st_size >= FILE_BYTES:
            self.close()

    def close(self) -> None:
        """Finish the current file, if any."""
        if self._parquet:
            self._parquet.close()
            self.finished.append(stage(self._path, self._rows))
            self._parquet, self._rows = None, 0

    def _open(self, block: pa.Table) -> pq.ParquetWriter:
        wide, schema = self._wide, self._schema
        # The distances between indexes are mostly equal, so that delta encoding makes them small. Values that
        # hardly repeat compress better as split byte streams than with a dictionary.
        encodings = {}
        if pa.types.is_integer(index := schema.field(wide.index).type) or pa.types.is_timestamp(index):
            encodings[wide.index] = "DELTA_BINARY_PACKED"
        if _are_measurements(block):
            encodings[wide.value] = "BYTE_STREAM_SPLIT"
        return pq.ParquetWriter(
            self._path,
            schema,
            **ARROW_OPTIONS,
            use_dictionary=[name for name in schema.names if name not in encodings],
            column_encoding=encodings,
            write_statistics=[name for name in schema.names if name != wide.variable],
            write_batch_size=ROW_GROUP_ROWS,
        )

    def _row_groups(self, block: pa.Table) -> Iterator[pa.Table]:
        """Yield the cells as rows: one table per row group, with as many variables as fit into it."""
        names = block.column_names
        variables = self._convert(names[1:], self._wide.variable).to_pylist()
        in_order = sorted(range(1, len(names)), key=lambda at: variables[at - 1])
        at_once = min(max(1, ROW_GROUP_ROWS // block.num_rows), len(in_order))
        index = _concatenate(block, [0] * at_once).cast(self._schema.field(self._wide.index).type)
        for start in range(0, len(in_order), at_once):
            group = in_order[start : start + at_once]
            yield self._to_rows([names[at] for at in group], index, _concatenate(block, group))

    def _to_rows(self, names: Sequence[str], index: pa.Array, values: pa.Array) -> pa.Table:
        """Return the rows of some variables. `values` has their cells, one variable after the other."""
        wide, schema = self._wide, self._schema
        repeated = pa.array(np.repeat(np.arange(len(names)), len(values) // len(names)))
        made = {wide.index: index[: len(values)], wide.value: values}
        parts = [
            {**(match.groupdict() if match else {}), **self._keys, wide.variable: name}
            for name in names
            for match in [re.fullmatch(wide.variable_pattern, name)]
        ]
        for name in schema.names:
            if name not in made:
                converted = self._convert([part.get(name) for part in parts], name)
                is_text = pa.types.is_string(converted.type)
                made[name] = pc.take(
                    converted.dictionary_encode() if is_text else converted, repeated, boundscheck=False
                )
        return pa.table([made[name] for name in schema.names], schema=schema)

    def _convert(self, texts: Sequence[str | None], name: str) -> pa.Array:
        return convert(pa.array(texts, pa.binary()), self._columns[name])[0]


def _stored_type(column: Column) -> pa.DataType:
    """Return the type of a column in the files. Texts have dictionaries."""
    kind = arrow_type(column)
    return pa.dictionary(pa.int32(), pa.string()) if kind == pa.string() else kind


def _are_measurements(block: pa.Table) -> bool:
    """Return whether the values of a row group hardly repeat, as measurements with many digits."""
    variables = max(1, ROW_GROUP_ROWS // block.num_rows)
    tested = _concatenate(block, range(1, block.num_columns)[:variables]).drop_null()
    return len(tested.unique()) > _DISTINCT_SHARE_OF_MEASUREMENTS * len(tested)


def _concatenate(block: pa.Table, columns: Iterable[int]) -> pa.Array:
    return pa.concat_arrays([chunk for at in columns for chunk in block.column(at).chunks])
