"""Read CSVs with one line per row."""

from collections.abc import Iterator
from itertools import chain

from tracehouse.ingest.declarations import Table
from tracehouse.ingest.readers import Batch, Content, Reader
from tracehouse.ingest.readers.csv_chunks import parse_chunks
from tracehouse.ingest.readers.headers import arrange, match_header, names_fit
from tracehouse.ingest.readers.lines import (
    first_written,
    header_of,
    read_header,
    record_chunks,
    without_last_commas,
)

# Small enough that a chunk stays in a core's cache while it is decompressed, parsed and checked.
CHUNK_BYTES = 4 << 20


def reads(table: Table, file_name: str) -> bool:
    """Return whether this reader reads a file: one named .csv, or one without an extension."""
    is_csv = file_name.endswith(".csv") or "." not in file_name
    return is_csv and table.wide is None and table.json_list is None


def read(content: Content) -> Iterator[Batch]:
    """Yield the rows of a CSV in batches; at least one batch, which may be empty.

    Raises RawFileError if the header or the number of columns in the first line is wrong, or if more than a
    tenth of the rows is rejected.
    """
    table = content.table
    chunks = record_chunks(content.stream, content.name, content.chunk_bytes or CHUNK_BYTES)
    if table.ends_in_comma:
        chunks = (without_last_commas(chunk, len(table.columns)) for chunk in chunks)
    first = first_written(chunks, content.name)
    columns, rest_of_first = match_header(header_of(first, content.name), first, content)
    chunks = chain([rest_of_first], chunks)
    for _, batch in parse_chunks(chunks, columns, table.ends_in_newline, content.name):
        yield Batch(arrange(batch.rows, table), batch.rejects)


READER = Reader(("csv",), reads, read, read_header, names_fit)
