"""Read TSVs: one line per row, with tabs between the fields and without quotes.

Hive and other databases export them. A field cannot contain a tab or the end of a line. NULL is an empty
field, or a text that the column declares in `null_texts`, such as Hive's.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tracehouse.core.text import decode_text
from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers import Batch, Content, Reader, Reject
from tracehouse.ingest.readers.csv_chunks import split_cut_record
from tracehouse.ingest.readers.headers import arrange, match_header, names_fit
from tracehouse.ingest.readers.lines import (
    HEADER_CHUNK_BYTES,
    Chunk,
    check_columns,
    first_record,
    first_written,
    record_chunks,
    records_of,
)
from tracehouse.ingest.readers.rejects import check_early, limit_rejects
from tracehouse.ingest.readers.values import Faults, convert_rows

CHUNK_BYTES = 4 << 20


def reads(table: Table, file_name: str) -> bool:
    """Return whether this reader reads a file: one named .tsv."""
    return file_name.endswith(".tsv") and table.wide is None and table.json_list is None


def read_names(stream: BinaryIO, file: str) -> list[str]:
    """Return the names in the first line."""
    return _split_first(first_written(record_chunks(stream, file, HEADER_CHUNK_BYTES), file), file)


def read(content: Content) -> Iterator[Batch]:
    """Yield the rows of a TSV in batches; at least one batch, which may be empty.

    Raises RawFileError if the header or the number of columns in the first line is wrong, or if more than a
    tenth of the rows is rejected.
    """
    chunks = record_chunks(content.stream, content.name, content.chunk_bytes or CHUNK_BYTES)
    first = first_written(chunks, content.name)
    columns, rest_of_first = match_header(_split_first(first, content.name), first, content)
    parsed = ((chunk, _parse(chunk, columns, content)) for chunk in chain([rest_of_first], chunks))
    for _, batch in limit_rejects(parsed, content.name):
        yield Batch(arrange(batch.rows, content.table), batch.rejects)


def _split_first(first: Chunk, file: str) -> list[str]:
    """Return the fields of a chunk's first line. Raises RawFileError if it has more than `MOST_COLUMNS`."""
    record = first_record(first).rstrip(b"\r\n")
    check_columns(record.count(b"\t") + 1, first, file)
    return record.decode(errors="replace").split("\t")


def _parse(chunk: Chunk, columns: Sequence[Column], content: Content) -> Batch:
    """Convert the lines of a chunk that fit, and reject the others."""
    complete, cut = split_cut_record(chunk) if content.table.ends_in_newline else (chunk, ())
    records = records_of(complete)
    texts = pc.replace_substring_regex(records.texts, r"[\r\n]+$", "")
    counts = pc.add(pc.count_substring(texts, "\t"), 1)
    is_complete = pc.equal(counts, len(columns)).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(~is_complete)

    def reject(row: int, reason: str) -> Reject:
        return Reject(int(records.lines[row]), reason, decode_text(texts[row].as_py()))

    def count_columns(row: int) -> str:
        return f"{counts[row].as_py()} columns; expected {len(columns)}"

    if len(wrong):
        # A chunk may have millions of bad lines: their rejects would take a hundred times its size.
        early = reject(int(wrong[0]), count_columns(int(wrong[0])))
        check_early(len(wrong), 0, chunk.last_line, early, content.name)
    fields = pc.split_pattern(texts.filter(pa.array(is_complete)), "\t").flatten()
    rows, faults = convert_rows([_column(fields, at, len(columns)) for at in range(len(columns))], columns)
    reasons: Faults = {int(row): count_columns(int(row)) for row in wrong}
    complete_rows = np.flatnonzero(is_complete)
    reasons |= {int(complete_rows[row]): reason for row, reason in faults.items()}
    return Batch(rows, (*(reject(row, reasons[row]) for row in sorted(reasons)), *cut))


def _column(fields: pa.BinaryArray, index: int, columns: int) -> pa.BinaryArray:
    """Return the fields of one column; empty ones are NULL."""
    texts = fields.take(pa.array(np.arange(index, len(fields), columns)))
    return pc.if_else(pc.equal(pc.binary_length(texts), 0), pa.scalar(None, pa.binary()), texts)


READER = Reader(("tsv",), reads, read, read_names, names_fit)
