"""Read wide CSVs: one line for each index, such as a time, and one column for each variable.

Cells stay in columns; `unpivot` writes them as rows.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.core.errors import RawFileError
from tracehouse.core.names import printable
from tracehouse.ingest.declarations import Column, Table, Wide
from tracehouse.ingest.readers.records import (
    Chunk,
    fields,
    first_record,
    first_written,
    record_chunks,
    records_of,
    shown,
    without,
)
from tracehouse.ingest.readers.rejects import Batch, Reject
from tracehouse.ingest.readers.typed_csv import header_fits, read_chunks
from tracehouse.ingest.readers.validation import value_fault
from tracehouse.ingest.readers.values import arrow_type

# Some 1,400 lines of 2,300 variables: one variable's cells are then enough to store them together.
CHUNK_BYTES = 8 << 20
PARSED_AT_ONCE = 4


@dataclass(frozen=True)
class Lines:
    """Lines of a wide CSV, in order: the index of each line, and the cells of each variable."""

    variables: tuple[str, ...]
    index: pa.Array
    cells: tuple[pa.Array, ...]
    rejects: tuple[Reject, ...]


def read_wide(
    stream: BinaryIO, table: Table, file: str, seen: set[Hashable], chunk_bytes: int = CHUNK_BYTES
) -> Iterator[Lines]:
    """Read a CSV of the wide `table`.

    `seen` contains the indexes (see `index_values`) of lines in other files of the table. A line whose index
    is in it is rejected; the indexes of all others are added. `file` names the CSV in errors. Raises
    RawFileError if the header or more than a tenth of the lines is invalid.
    """
    assert table.wide
    chunks = record_chunks(stream, file, chunk_bytes)
    first = first_written(chunks, file)
    header = first_record(first)
    variables = _variables(fields(header), table, table.wide, file, first.first_line)
    index = replace(_column(table, table.wide.index), required=True)
    columns = (
        replace(index, name=table.wide.index_header or index.name),
        *(Column(variable, "DOUBLE", "") for variable in variables),
    )
    rest = chain([without(first, len(header))], chunks)
    for chunk, batch in read_chunks(rest, columns, table.ends_in_newline, file, PARSED_AT_ONCE):
        # The fast parser returns views of texts, which Arrow cannot sort or filter.
        indexes = batch.rows.column(0).cast(arrow_type(index))
        batch = replace(batch, rows=batch.rows.set_column(0, columns[0].name, indexes))
        rows, rejects = _without_known_lines(chunk, batch, seen)
        # One array a variable: with thousands of columns, small arrays cost more than the values in them.
        whole = rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], rows.schema)]
        indexes, *cells = whole[0].columns
        yield Lines(variables, indexes, tuple(cells), rejects)


def index_values(indexes: pa.Array | pa.ChunkedArray) -> list[Hashable]:
    """The indexes of lines as values that compare fast: times as microseconds since 1970."""
    is_time = pa.types.is_timestamp(indexes.type)
    return (indexes.cast(pa.int64()) if is_time else indexes).to_pylist()


def _column(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


def _variables(header: list[str], table: Table, wide: Wide, file: str, line: int) -> tuple[str, ...]:
    """The names of the columns behind the first. Raises RawFileError if the header is invalid."""
    first = wide.index_header or "an empty field"
    expected = f"{first} and then distinct names" if not header_fits(table, header) else ""
    column = _column(table, wide.variable)
    faults = filter(None, (value_fault(name.encode(), column) for name in header[1:]))
    if wrong := f"expected {expected}" if expected else next(faults, ""):
        raise RawFileError(
            file,
            f"the header is {shown(header)}; {wrong}",
            "Fetch the file again from its publisher, or move it out of the raw folder",
            line=line,
        )
    return tuple(header[1:])


def _without_known_lines(
    chunk: Chunk, batch: Batch, seen: set[Hashable]
) -> tuple[pa.Table, tuple[Reject, ...]]:
    """The lines whose index is new, and the rejects, including repeated lines. Adds new indexes to `seen`."""
    indexes = index_values(batch.rows.column(0))
    before = len(seen)
    if seen.isdisjoint(indexes):
        seen.update(indexes)
        if len(seen) == before + len(indexes):
            return batch.rows, batch.rejects
        seen.difference_update(indexes)
    records = records_of(chunk)
    is_kept = ~np.isin(records.lines, [reject.line for reject in batch.rejects])
    lines, texts = records.lines[is_kept].tolist(), records.texts.filter(pa.array(is_kept))
    rejects = list(batch.rejects)
    is_new = []
    reason = f"its {batch.rows.column_names[0]} occurred before, in an earlier line or file"
    for index, line, text in zip(indexes, lines, texts, strict=True):
        is_new.append(index not in seen)
        seen.add(index)
        if not is_new[-1]:
            rejects.append(Reject(line, reason, printable(text.as_py().rstrip(b"\r\n"))))
    rejects.sort(key=lambda reject: reject.line)
    return batch.rows.filter(pa.array(is_new, pa.bool_())), tuple(rejects)


def ascending(lines: Lines) -> Lines:
    """The same lines in the order of their indexes."""
    order = pc.sort_indices(lines.index)
    if pc.all(pc.equal(order, pa.array(np.arange(len(order), dtype=np.uint64)))).as_py():
        return lines
    cells = tuple(column.take(order) for column in lines.cells)
    return Lines(lines.variables, lines.index.take(order), cells, lines.rejects)
