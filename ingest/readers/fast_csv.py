"""Parses the plain chunks of a CSV with Polars, in a fraction of the time that the careful way takes.

A chunk is plain where Polars cannot read it otherwise than `typed_csv` does. It fills lines that are too
short with NULLs, reads white space in place of a number as NULL, drops carriage returns, and unpacks what
begins like compressed data. Such a chunk, and one that does not fit its columns, is left to `typed_csv`,
which knows quotes, other notations of numbers, and what to say of a line.
"""

from collections.abc import Callable, Sequence

import polars as pl
import pyarrow as pa

from tracehouse.ingest.declarations import Column
from tracehouse.ingest.readers.records import BYTE_ORDER_MARK, Chunk, count_bytes, count_bytes_up_to

Parse = Callable[[Chunk], pa.Table | None]
"""Gives all lines of a chunk as rows; None where it is not plain, or a line does not fit."""

_TYPES = {"VARCHAR": pl.String(), "BIGINT": pl.Int64(), "DOUBLE": pl.Float64()}
# Up to it come the zero byte, tab, carriage return and space: a plain chunk has newlines alone of these.
_QUOTE = ord('"')
_COMMA = ord(",")
# Polars unpacks gzip, zlib and zstd where it finds their first bytes.
_MISTAKEN_STARTS = (BYTE_ORDER_MARK, b"\x1f\x8b", b"x\x01", b"x^", b"x\x9c", b"x\xda", b"\x28\xb5\x2f\xfd")


def parser(columns: Sequence[Column]) -> Parse | None:
    """What parses chunks of these columns; None where Polars does not read their types as they are meant."""
    # The commas of a single column are no account of its lines.
    if len(columns) < 2 or any(column.type not in _TYPES or column.null_texts for column in columns):
        return None
    schema = {column.name: _TYPES[column.type] for column in columns}
    required = [column.name for column in columns if column.required]

    def parse(chunk: Chunk) -> pa.Table | None:
        data = chunk.data
        if data.startswith(_MISTAKEN_STARTS) or count_bytes_up_to(data, _QUOTE) != chunk.line_ends:
            return None
        try:
            rows = pl.read_csv(data, has_header=False, schema=schema, quote_char=None)
        except pl.exceptions.PolarsError:
            return None
        if not _is_all_of(chunk, rows) or any(rows[name].null_count() for name in required):
            return None
        # As views of texts, which are not copied before they are sorted.
        return rows.to_arrow(compat_level=pl.CompatLevel.newest()) if _are_finite(rows) else None

    return parse


def _is_all_of(chunk: Chunk, rows: pl.DataFrame) -> bool:
    """Whether each line became a row, and none of them is short: counted apart from the parser."""
    if rows.height != chunk.line_ends:
        return False
    # A blank or a short line has no last field, which is NULL then: without a NULL, there is none to find.
    if not rows[:, -1].null_count():
        return True
    return count_bytes(chunk.data, _COMMA) == rows.height * (rows.width - 1)


def _are_finite(rows: pl.DataFrame) -> bool:
    """Whether no number is an infinity or NaN."""
    return all(column.is_finite().all() for column in rows if column.dtype.is_float())
