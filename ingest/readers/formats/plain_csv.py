"""Read CSVs with one line per row."""

from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa

from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.readers import Batch, Content, Reader
from tracehouse.ingest.readers.csv_chunks import parse_chunks
from tracehouse.ingest.readers.lines import (
    Chunk,
    first_record,
    first_written,
    header_of,
    read_header,
    record_chunks,
    shown,
    without,
    without_last_commas,
)
from tracehouse.ingest.readers.values import arrow_type

# Small enough that a chunk stays in a core's cache while it is decompressed, parsed and checked.
CHUNK_BYTES = 4 << 20


def reads(table: Table, file_name: str) -> bool:
    """Return whether this reader reads a file: one named .csv, or one without an extension."""
    is_csv = file_name.endswith(".csv") or "." not in file_name
    return is_csv and table.wide is None and table.json_list is None


def names_fit(table: Table, header: Sequence[str]) -> bool:
    """Return whether a header has the columns of a table, in any order. Only optional ones may be missing."""
    if table.ends_in_comma and not header[-1]:
        header = header[:-1]
    known = {column.name_in_file for column in table.columns}
    optional = {column.name_in_file for column in table.columns if column.name in table.optional}
    found = set(header)
    return len(found) == len(header) and known - optional <= found <= known


def read(content: Content) -> Iterator[Batch]:
    """Yield the rows of a CSV in batches; at least one batch, which may be empty.

    Raises RawFileError if the header or the number of columns is wrong, or if more than a tenth of the rows
    does not fit.
    """
    table = content.table
    chunks = record_chunks(content.stream, content.name, content.chunk_bytes or CHUNK_BYTES)
    if table.ends_in_comma:
        chunks = (without_last_commas(chunk, len(table.columns)) for chunk in chunks)
    names, rest_of_first = _split_header(first_written(chunks, content.name), content)
    columns = {column.name_in_file: column for column in table.columns}
    in_file = [columns[name] for name in names]
    chunks = chain([rest_of_first], chunks)
    for _, batch in parse_chunks(chunks, in_file, table.ends_in_newline, content.name):
        yield Batch(_arrange(batch.rows, table), batch.rejects)


def _split_header(first: Chunk, content: Content) -> tuple[list[str], Chunk]:
    """Return the columns' names in the order of the file, and the first chunk without the header line."""
    table, header = content.table, header_of(first, content.name)
    declared = [column.name_in_file for column in table.columns]
    if names_fit(table, header):
        return header, without(first, len(first_record(first)))
    if table.has_header or len(header) != len(declared):
        listed = ",".join(declared)
        what = f"the header is {shown(header)}; expected {listed}"
        if not table.has_header:
            what = f"the line has {len(header)} columns; expected {len(declared)}: {listed}"
        raise RawFileError(
            content.name,
            what,
            "Fetch the file again from its publisher, or move it out of the raw folder",
            line=first.first_line,
        )
    return declared, first


def _arrange(rows: pa.Table, table: Table) -> pa.Table:
    """Return the columns in the declared order. Columns that the file lacks are NULL."""
    found = set(rows.column_names)
    arranged = [
        rows[column.name] if column.name in found else pa.nulls(rows.num_rows, arrow_type(column))
        for column in table.read_columns
    ]
    return pa.table(arranged, names=[column.name for column in table.read_columns])


READER = Reader(("csv",), reads, read, read_header, names_fit)
