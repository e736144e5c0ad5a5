"""What the tests over random tables share: how many there are, and how an answer meets its twin's."""

import duckdb
import pandas as pd
import raw_frames
from hostile_tests import TRY_ALL
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

# Every example fills a warehouse, so there are few and they are full, and a failing one is not made smaller.
QUICK = settings(
    deadline=None,
    max_examples=25 if TRY_ALL else 1,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
SEEDS = st.integers(1, 2**32)


def check(
    connection: duckdb.DuckDBPyConnection, name: str, expected: pd.DataFrame, keys: list[str] | None
) -> None:
    """Compare a view, or a call of a query, with what pandas computed."""
    try:
        raw_frames.assert_same_rows(connection.sql(f"from {name}"), expected, keys)
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from None
