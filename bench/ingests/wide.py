"""What contenders are told of a wide CSV beforehand: its columns, and whether its cells are integers."""

from pathlib import Path

import polars as pl


def polars_schema(csv: str) -> pl.Schema:
    """Times as text, cells as integers or floats, as the first line has them."""
    with Path(csv).open() as file:
        names = file.readline().rstrip("\n").split(",")
        cells = file.readline()
    kind = pl.Float64 if "." in cells.partition(",")[2] else pl.Int64
    return pl.Schema(dict.fromkeys(names, kind) | {"Time": pl.String})
