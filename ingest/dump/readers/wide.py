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
from tracehouse.ingest.declare.trace import Column, Table, Wide
from tracehouse.ingest.dump.readers import Batch, Reader, ReaderInput, Reject, limit_rejects
from tracehouse.ingest.dump.readers.csv import ChunkParser, read_names, split_header
from tracehouse.ingest.dump.readers.lines import (
    Chunk,
    explain_header,
    open_lines,
    records_of,
    shown,
)
from tracehouse.ingest.dump.readers.values import convert, index_values

# About 1,400 lines with 2,300 variables: enough lines to store the cells of each variable next to each other.
CHUNK_BYTES = 8 << 20
PARSED_AT_ONCE = 4
# The line indexes of a partition are in memory. Half a year with a sample every 15 s has a million lines.
MOST_LINES = 5_000_000


def names_fit(table: Table, header: Sequence[str]) -> bool:
    """Return whether a header has the index's column first, and then distinct names."""
    names = header[1:]
    index_header = _wide(table).index_header
    return header[0] == index_header and len(set(names) - {"", index_header}) == len(names) > 0


def read(source: ReaderInput) -> Iterator[Batch]:
    """Yield the lines of a wide CSV in batches, each line with its index and its cells.

    A line whose index occurred before is rejected. Raises RawFileError if the header is wrong, or if more
    than a tenth of the lines is rejected for another reason.
    """
    table = source.table
    lines = open_lines(source.stream, source.name, source.chunk_bytes or CHUNK_BYTES)
    names = split_header(lines, source.name)
    _check_header(names, source, lines.first.first_line)
    columns = (
        replace(table.column(_wide(table).index), name=names[0] or _wide(table).index, required=True),
        *(Column(name, "DOUBLE", "") for name in names[1:]),
    )
    parser = ChunkParser(columns, source.name)
    parsed = parser.parse_all(chain([lines.after], lines.others), PARSED_AT_ONCE)
    chunk = lines.first

    def batches() -> Iterator[Batch]:
        nonlocal chunk
        for chunk, batch in parsed:  # noqa: B007 (the loop below reads it)
            yield batch

    # Repeated lines do not count towards the tenth: two files may overlap.
    for batch in limit_rejects(batches(), source.name):
        yield _reject_repeated(chunk, batch, source.indexes)
        if len(source.indexes) > MOST_LINES:
            raise RawFileError(
                source.name,
                f"together with the other files of its partition, it has more than {MOST_LINES:,} lines",
                "Reduce it to fewer samples, or move it out of the raw folder",
                line=chunk.last_line,
            )


def _wide(table: Table) -> Wide:
    assert table.wide
    return table.wide


def _check_header(header: Sequence[str], source: ReaderInput, line: int) -> None:
    """Raise RawFileError unless the header is of the table, and all names have the variable's type."""
    wide = _wide(source.table)
    if header[0] != wide.index_header:
        # The names of variables are not declared: compare those up to the index.
        before = header[: 2 if wide.index_header in header[:2] else 1]
        what, do = explain_header(before, [wide.index_header], (), "the header")
        raise RawFileError(source.name, what, do, line=line)
    wrong = "expected distinct names after the first"
    if names_fit(source.table, header):
        names = pa.array([name.encode() for name in header[1:]], pa.binary())
        variable = replace(source.table.column(wide.variable), required=True)
        wrong = next(iter(convert(names, variable)[1].values()), "")
    if wrong:
        what = f"the header is {shown(header)}; {wrong}"
        raise RawFileError(source.name, what, FETCH_OR_MOVE, line=line)


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
    return replace(batch, rows=batch.rows.filter(pa.array(is_new, pa.bool_())), rejects=tuple(rejects))


READER = Reader(read, read_names, names_fit)
