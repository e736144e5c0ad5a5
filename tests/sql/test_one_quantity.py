"""Columns of queries with the same name and meaning have the same values, on large files.

tests/test_goldens.py tests this on the fixture.
"""

import duckdb
import pytest
from one_quantity import find_disagreements
from random_seed import DEPTH


def disagreements(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return [
        *find_disagreements(connection, lambda q: connection.sql(f"from {q}()").to_arrow_table().to_pydict())
    ]


@pytest.mark.each_trace
def test_queries_agree_on_quantities(
    synthetic: duckdb.DuckDBPyConnection, pytestconfig: pytest.Config
) -> None:
    if DEPTH == 1 and not pytestconfig.getoption("only_trace"):
        pytest.skip("slow: run `make random-test`")
    assert disagreements(synthetic) == []


@pytest.mark.skipif(DEPTH == 1, reason="slow: run `make random-test`")
def test_queries_agree_on_quantities_of_real_files(real: duckdb.DuckDBPyConnection) -> None:
    assert disagreements(real) == []
