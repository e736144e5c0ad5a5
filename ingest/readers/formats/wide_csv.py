"""Read wide CSVs: one line for each index, such as a time, and one column for each variable.

The reader keeps cells in columns; `unpivot` writes them as rows.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa

from tracehouse.core.errors import FETCH_OR_MOVE, RawFileError
from tracehouse.core.text import decode_text
from tracehouse.ingest.declarations import Column, Table, Wide
from tracehouse.ingest.readers import Batch, Content, Reader, Reject
from tracehouse.ingest.readers.csv_chunks import parse_chunks
from tracehouse.ingest.readers.lines import (
    Chunk,
    first_record,
    first_written,
    header_of,
    read_header,
    record_chunks,
    records_of,
    shown,
    without,
)
from tracehouse.ingest.readers.values import arrow_type, convert, index_values

# About 1,400 lines with 2,300 variables: enough lines to store the cells of each variable next to each other.
CHUNK_BYTES = 8 << 20
PARSED_AT_ONCE = 4
# The line indexes of a partition are in memory. Half a year with a sample every 15 s has a million lines.
MOST_LINES = 5_000_000


def reads(table: Table, _: str) -> bool:
    """Return whether this reader reads a table's files: all files of tables declared as wide."""
    return table.wide is not None


def names_fit(table: Table, header: Sequence[str]) -> bool:
    """Return whether a header has the index's column first, and then distinct names."""
    names = header[1:]
    index_header = _wide(table).index_header
    return header[0] == index_header and len(set(names) - {"", index_header}) == len(names) > 0


def read(content: Content) -> Iterator[Batch]:
    """Yield the lines of a wide CSV in batches, each line with its index and its cells.

    A line whose index occurred before is rejected. Raises RawFileError if the header is wrong, or if more
    than a tenth of the lines is rejected.
    """
    table = content.table
    chunks = record_chunks(content.stream, content.name, content.chunk_bytes or CHUNK_BYTES)
    first = first_written(chunks, content.name)
    names = header_of(first, content.name)
    _check_header(names, content, first.first_line)
    index = _column(table, _wide(table).index)
    columns = [
        replace(index, name=names[0] or index.name, required=True),
        *(Column(name, "DOUBLE", "") for name in names[1:]),
    ]
    chunks = chain([without(first, len(first_record(first)))], chunks)
    for chunk, batch in parse_chunks(chunks, columns, table.ends_in_newline, content.name, PARSED_AT_ONCE):
        # The Polars parser returns views of texts, which Arrow cannot sort or filter.
        indexes = batch.rows.column(0).cast(arrow_type(index))
        rows = batch.rows.set_column(0, columns[0].name, indexes)
        yield _reject_repeated(chunk, Batch(rows, batch.rejects), content.indexes)
        if len(content.indexes) > MOST_LINES:
            raise RawFileError(
                content.name,
                f"together with the other files of its partition, it has more than {MOST_LINES:,} lines",
                "Reduce it to fewer samples, or move it out of the raw folder",
                line=chunk.last_line,
            )


def _wide(table: Table) -> Wide:
    assert table.wide
    return table.wide


def _column(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


def _check_header(header: Sequence[str], content: Content, line: int) -> None:
    table = content.table
    wide = _wide(table)
    if names_fit(table, header):
        names = pa.array([name.encode() for name in header[1:]], pa.binary())
        wrong = next(iter(convert(names, _column(table, wide.variable))[1].values()), "")
    else:
        wrong = f"expected {wide.index_header or 'an empty field'} and then distinct names"
    if wrong:
        what = f"the header is {shown(header)}; {wrong}"
        raise RawFileError(content.name, what, FETCH_OR_MOVE, line=line)


def _reject_repeated(chunk: Chunk, batch: Batch, seen: set[Hashable]) -> Batch:
    """Reject the lines whose index is in `seen`, and add the new indexes to `seen`."""
    indexes = index_values(batch.rows.column(0))
    before = len(seen)
    if seen.isdisjoint(indexes):
        seen.update(indexes)
        if len(seen) == before + len(indexes):
            return batch
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
            rejects.append(Reject(line, reason, decode_text(text.as_py().rstrip(b"\r\n"))))
    rejects.sort(key=lambda reject: reject.line)
    return Batch(batch.rows.filter(pa.array(is_new, pa.bool_())), tuple(rejects))


READER = Reader(("csv",), reads, read, read_header, names_fit)
