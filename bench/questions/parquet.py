"""Reading PAI's Parquet as pandas and Polars users do, and answering in the order of the named query."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl

TASK = ["job_name", "task_name"]


def read(parquet: Path, table: str, columns: Sequence[str]) -> pd.DataFrame:
    """A table as pandas has it: only the columns that the question needs."""
    return pd.read_parquet(parquet / "pai" / table, columns=list(columns))


def scan(parquet: Path, table: str) -> pl.LazyFrame:
    """A table as Polars has it: lazy, so that it reads only what the question needs."""
    return pl.scan_parquet(parquet / "pai" / table / "*.parquet")


def listed(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """A data frame of rows that were computed one by one."""
    return pd.DataFrame(list(rows), columns=list(names))


def percent(part: Any, whole: Any) -> Any:
    """A share in percent; missing where there is no whole."""
    return 100.0 * part / whole if whole else None


def nonzero(column: str) -> pl.Expr:
    """A divisor: missing where it is 0."""
    return pl.when(pl.col(column) != 0).then(pl.col(column))


def happened(column: str) -> pl.Expr:
    """A time of PAI; missing where it is 0, which stands for something that did not happen."""
    return pl.when(pl.col(column) > 0).then(pl.col(column))


def quantile(column: str, at: float) -> pl.Expr:
    """An interpolated quantile."""
    return pl.col(column).quantile(at, interpolation="linear")


def share_of(column: str) -> pl.Expr:
    """A column's values as percent of their sum; missing where that is 0."""
    return 100.0 * pl.col(column) / pl.when(pl.col(column).sum() != 0).then(pl.col(column).sum())
