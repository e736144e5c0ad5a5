"""Write the columns of a table as a CSV in the publisher's format.

A sampler gives the values of each column. The declaration of the table gives the order of the columns, the
notation of numbers, and whether the file has a header. Strings are generated block by block, so that only the
numbers of a table are in memory.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracehouse.ingest.declarations import Table
from tracehouse.samples.draw import Bools, Ints, floats, hex_ids, labels, salt_of, set_nulls, whole
from tracehouse.samples.files import OnBytes, write_csv

BLOCK_ROWS = 200_000


@dataclass(frozen=True)
class Text:
    """A column of strings that `text_of` generates from numbers; NULL where `null` is true."""

    numbers: Ints
    text_of: Callable[[Ints], pl.Series]
    null: Bools | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: slice) -> pl.Series:
        null = None if self.null is None else self.null[rows]
        return set_nulls(self.text_of(self.numbers[rows]), null)


Values = Text | pl.Series | NDArray


@dataclass(frozen=True)
class Ids:
    """Generates hexadecimal identifiers: equal numbers of a kind get the same identifier in all tables."""

    seed: int

    def __call__(self, kind: str, digits: int, numbers: Ints, null: Bools | None = None) -> Text:
        """Return a column of identifiers with this many digits, for numbers of a kind such as "job"."""
        salt = salt_of(self.seed, kind)
        return Text(numbers, lambda block: hex_ids(block, salt, digits), null)


def names(codes: Ints, of: Sequence[str | None]) -> Text:
    """Return a column with the name at the position of each code; None becomes NULL."""
    return Text(codes, lambda block: labels(block, of))


def frames(table: Table, columns: Mapping[str, Values]) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table in blocks, with the columns in the publisher's order."""
    count = len(next(iter(columns.values())))
    for start in range(0, count, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, count))
        yield pl.DataFrame(
            {
                column.name_in_file: _format_values(columns[column.name][rows], column.stored_type)
                for column in table.columns
                if column.name in columns
            }
        )


def _format_values(values: pl.Series | NDArray, stored_type: str) -> pl.Series:
    """Convert numbers to the notation of a type: 1 for BIGINT, 1.0 for DOUBLE. NaN becomes NULL."""
    if isinstance(values, pl.Series):
        return values
    if stored_type == "DOUBLE":
        return floats(values)
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        return whole(np.where(missing, 0, values), missing if missing.any() else None)
    return pl.Series(values)


def write_table(path: Path, table: Table, columns: Mapping[str, Values], on_bytes: OnBytes) -> Path:
    """Write the rows of a table as one CSV, with a header if the table has one, and return its path."""
    return write_csv(path, frames(table, columns), on_bytes, table.has_header)
