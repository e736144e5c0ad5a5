"""Read JSON lines: one object on each line.

The texts of an object's values are converted like the fields of a CSV.
"""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

from tracehouse.core.errors import FETCH_FILE_AGAIN, FETCH_OR_MOVE, RawFileError
from tracehouse.core.text import decode_text
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.readers import Batch, Content, Reader, Reject
from tracehouse.ingest.readers.json_objects import MisfitError, Row, Texts, build_batch, parse_object, text_of
from tracehouse.ingest.readers.lines import (
    HEADER_CHUNK_BYTES,
    Chunk,
    first_record,
    first_written,
    record_chunks,
    records_of,
    shown,
)
from tracehouse.ingest.readers.rejects import limit_rejects

# A small chunk, because Python's objects take many times the bytes of the JSON.
CHUNK_BYTES = 1 << 20


def reads(table: Table, file_name: str) -> bool:
    """Return whether this reader reads a file: one named .jsonl."""
    return file_name.endswith(".jsonl") and table.wide is None and table.json_list is None


def read_names(stream: BinaryIO, file: str) -> list[str]:
    """Return the names in the object on the first line."""
    first = first_written(record_chunks(stream, file, HEADER_CHUNK_BYTES), file)
    try:
        return list(parse_object(first_record(first)))
    except MisfitError as misfit:
        raise RawFileError(file, f"{misfit}", FETCH_FILE_AGAIN, line=first.first_line) from misfit


def names_fit(table: Table, names: Sequence[str]) -> bool:
    """Return whether names are those of a table's columns. Only optional columns may be missing."""
    known = {column.name for column in table.columns}
    return known - table.optional <= set(names) <= known


def read(content: Content) -> Iterator[Batch]:
    """Yield the rows of JSON lines in batches; at least one batch.

    An object fits if it has a value or null for each column that is not optional, and no other names. Raises
    RawFileError if the first line is not an object of the table, or if more than a tenth of the lines is
    rejected.
    """
    chunks = record_chunks(content.stream, content.name, content.chunk_bytes or CHUNK_BYTES)
    first = first_written(chunks, content.name)
    _check_first(first, content)
    parsed = ((chunk, _parse_chunk(chunk, content.table)) for chunk in (first, *chunks))
    for _, batch in limit_rejects(parsed, content.name):
        yield batch


def _check_first(first: Chunk, content: Content) -> None:
    try:
        names: Sequence[str] = list(parse_object(first_record(first)))
        what = f"the names on the line are {shown(names)}"
    except MisfitError as misfit:
        names, what = [], f"{misfit}"
    if not names_fit(content.table, names):
        expected = ",".join(column.name for column in content.table.columns)
        what = f"{what}; expected {expected}"
        raise RawFileError(content.name, what, FETCH_OR_MOVE, line=first.first_line)


def _parse_chunk(chunk: Chunk, table: Table) -> Batch:
    records = records_of(chunk)
    rows: list[Row] = []
    rejects: list[Reject] = []
    for line, text in zip(records.lines.tolist(), records.texts.to_pylist(), strict=True):
        record = text.rstrip(b"\r\n")
        try:
            rows.append(Row(line, record, _texts_of(record, table)))
        except MisfitError as misfit:
            rejects.append(Reject(line, str(misfit), decode_text(record)))
    return build_batch(rows, rejects, table)


def _texts_of(record: bytes, table: Table) -> Texts:
    values = parse_object(record)
    missing = [c.name for c in table.columns if c.name not in values and c.name not in table.optional]
    if missing:
        raise MisfitError(f"no value for {missing[0]}")
    texts = [text_of(values.pop(column.name, None), column) for column in table.columns]
    if values:
        raise MisfitError(f"a value for {shown(list(values))}, which is not a column")
    return texts


READER = Reader(("jsonl", "ndjson"), reads, read, read_names, names_fit)
