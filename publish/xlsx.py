"""Write an answer as an Excel workbook with one sheet. The first row has the names of the columns.

A cell holds a text, a number, a boolean, or a time from 1901 on in milliseconds. Other values are written as
texts, and a note counts them. A fraction keeps 16 digits, although some need 17.
"""

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from tracehouse.core.errors import UserError, check_installed
from tracehouse.definitions.units import is_number
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.publish.columns import columns_of, format_exact, rows_of

MOST_ROWS, MOST_COLUMNS, MOST_LETTERS = 1_048_576, 16_384, 32_767
# A double is exact for all integers up to this one, and keeps all decimals of this many digits.
_LARGEST = 2**53
_DIGITS = 15
# Excel treats 1900 as a leap year.
_FIRST_YEAR = 1901
_FORMATS: dict[type, str] = {dt.date: "yyyy-mm-dd", dt.datetime: "yyyy-mm-dd hh:mm:ss.000"}


def write(connection: duckdb.DuckDBPyConnection, query: BoundQuery, path: Path) -> tuple[int, list[Note]]:
    """Write an answer to a file. Returns the number of rows, and notes on changed values.

    Raises UserError if the answer exceeds the limits of a sheet or a cell.
    """
    check_installed("workbooks need", "xlsx", "xlsxwriter")
    from xlsxwriter import Workbook

    columns = columns_of(connection, query)
    if len(columns) > MOST_COLUMNS:
        raise UserError(f"The answer has {len(columns):,} columns; a sheet can have {MOST_COLUMNS:,}")
    # Rows are written one by one, through a temporary file if the connection has a folder for it: all cells
    # together could take gigabytes of memory.
    [(folder,)] = connection.execute("select current_setting('temp_directory')").fetchall()
    scratch = folder if Path(folder).is_dir() else None
    rows, changed = 0, 0
    with (
        path.open("wb") as file,
        Workbook(file, {"constant_memory": True, "use_zip64": True, "tmpdir": scratch}) as book,
    ):
        sheet = book.add_worksheet("answer")
        sheet.freeze_panes(1, 0)
        heading = book.add_format({"bold": True})
        for index, (name, _) in enumerate(columns):
            sheet.write_string(0, index, name, heading)
        formats = {kind: book.add_format({"num_format": text}) for kind, text in _FORMATS.items()}
        for rows, row in enumerate(rows_of(connection, query, columns), 1):
            if rows == MOST_ROWS:
                raise UserError(
                    f"The answer has more rows than a sheet can have ({MOST_ROWS:,} with the header). Give "
                    "--limit, or write csv or parquet"
                )
            for index, (value, (name, kind)) in enumerate(zip(row, columns, strict=True)):
                cell = _cell(value, kind)
                if isinstance(cell, str):
                    letters = len(cell.encode("utf-16-le", "surrogatepass")) // 2
                    if letters > MOST_LETTERS:
                        raise UserError(
                            f"Row {rows:,}, column {name}: the text has {letters:,} characters; a cell can "
                            f"have {MOST_LETTERS:,}. Write csv or parquet"
                        )
                    changed += is_number(kind) or _is_time(kind)
                    # `write` would turn some texts into formulas or links.
                    sheet.write_string(rows, index, cell)
                else:
                    sheet.write(rows, index, cell, formats.get(type(cell)))
    if not changed:
        return rows, []
    text = (
        f"{changed:,} value{' was' if changed == 1 else 's were'} written as text, because a cell cannot "
        "hold it exactly: integers beyond 2^53, decimals of more than 15 digits, NaN, infinity, and times "
        "before 1901 or finer than a millisecond"
    )
    return rows, [Note("as texts", text, "note")]


def _cell(value: Any, kind: str) -> str | float | bool | dt.date | None:
    """Convert a value for a cell. Returns a text if a cell cannot hold the value exactly."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else format_exact(value)
    if is_number(kind):
        return float(value) if len(Decimal(value).as_tuple().digits) <= _DIGITS else str(value)
    return _time(value) if _is_time(kind) else str(value)


def _is_time(kind: str) -> bool:
    return kind == "DATE" or kind.startswith("TIMESTAMP")


def _time(text: str) -> str | dt.date:
    """Parse DuckDB's text of a date, or of a time in UTC. Returns the text if a cell cannot hold it."""
    try:
        found = dt.datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        # Years before 1 or after 9999, and infinity.
        return text
    if found.year < _FIRST_YEAR or found.microsecond % 1000:
        return text
    return found if len(text) > len("2023-05-17") else found.date()
