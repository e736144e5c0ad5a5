"""Views and queries on random small tables agree with pandas and satisfy the invariants of their trace."""

import importlib
import pkgutil
from pathlib import Path

import duckdb
import pandas as pd
import pytest
import random_tables
import raw_dumps
import raw_frames
from random_seed import seeds
from random_tables import Case

CASES = {
    f"{found.name}: {name}": case
    for found in pkgutil.iter_modules(random_tables.__path__)
    for name, case in importlib.import_module(f"random_tables.{found.name}").CASES.items()
}


def check(
    connection: duckdb.DuckDBPyConnection, name: str, expected: pd.DataFrame, keys: list[str] | None
) -> None:
    """Compare a view, or a call of a query, with what pandas computed."""
    try:
        raw_frames.assert_same_rows(connection.sql(f"from {name}"), expected, keys)
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from None


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("seed", seeds(1))
def test_views_and_queries(case: Case, seed: int, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    tables = case.write(raw, seed)
    with raw_dumps.ingested(raw, tmp_path / "warehouse") as connection:
        if written := case.count(tables):
            raw_dumps.assert_accounts_add_up(connection, written)
        case.prepare(tables, connection)
        for view, (compute, keys) in case.views.items():
            check(connection, view, compute(raw), keys)
        for call, (compute, arguments, keys) in case.queries.items():
            check(connection, call, compute(raw, *arguments), keys)
        for check_invariant in case.invariants:
            check_invariant(tables, connection)
