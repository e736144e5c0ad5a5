"""Match the header of a text file with the columns of its table, and put columns into the declared order."""

from collections.abc import Sequence

import pyarrow as pa

from tracehouse.core.errors import FETCH_OR_MOVE, RawFileError
from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers import Content
from tracehouse.ingest.readers.lines import Chunk, first_record, shown, without
from tracehouse.ingest.readers.values import arrow_type


def names_fit(table: Table, header: Sequence[str]) -> bool:
    """Return whether a header has the columns of a table, in any order. Only optional ones may be missing."""
    if table.ends_in_comma and not header[-1]:
        header = header[:-1]
    known = {column.name_in_file for column in table.columns}
    optional = {column.name_in_file for column in table.columns if column.name in table.optional}
    found = set(header)
    return len(found) == len(header) and known - optional <= found <= known


def match_header(header: Sequence[str], first: Chunk, content: Content) -> tuple[list[Column], Chunk]:
    """Return the columns in the order of the file, and the first chunk without the header line.

    `header` has the fields of the first line. Raises RawFileError if they do not fit the table.
    """
    table = content.table
    columns = {column.name_in_file: column for column in table.columns}
    if names_fit(table, header):
        return [columns[name] for name in header], without(first, len(first_record(first)))
    if table.has_header or len(header) != len(columns):
        listed = ",".join(columns)
        what = f"the header is {shown(header)}; expected {listed}"
        if not table.has_header:
            what = f"the line has {len(header)} columns; expected {len(columns)}: {listed}"
        raise RawFileError(content.name, what, FETCH_OR_MOVE, line=first.first_line)

    return list(table.columns), first


def arrange(rows: pa.Table, table: Table) -> pa.Table:
    """Return the columns in the declared order. Columns that the file lacks are NULL."""
    found = set(rows.column_names)
    arranged = [
        rows[column.name] if column.name in found else pa.nulls(rows.num_rows, arrow_type(column))
        for column in table.read_columns
    ]
    return pa.table(arranged, names=[column.name for column in table.read_columns])
