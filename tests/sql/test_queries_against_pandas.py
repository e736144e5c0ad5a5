"""Compare every named query with its pandas reference implementation on the raw files."""

from pathlib import Path

import comparison
import duckdb
import pandas as pd
import pytest
import raw_frames

from tracehouse.sql.query_files import query_files

WITH_TOTAL = [
    query.full_name
    for query in query_files()
    if "with_total" in [parameter.name for parameter in query.parameters]
]
WORDS_FOR_TOTALS = ["all", "both", "total"]


def answer(connection: duckdb.DuckDBPyConnection, call: str) -> duckdb.DuckDBPyRelation:
    return connection.sql(f"from {call}")


@pytest.mark.parametrize("call", [call for call in comparison.QUERIES if call in comparison.ON_REAL_FILES])
def test_query_on_real_files(call: str, real: duckdb.DuckDBPyConnection, real_raw: Path) -> None:
    comparison.skip_without_files_of(call, real_raw)
    compute, arguments, keys = comparison.QUERIES[call]
    raw_frames.assert_same_rows(answer(real, call), compute(real_raw, *arguments), keys)


@pytest.mark.parametrize("call", comparison.QUERIES)
def test_query_on_synthetic_dumps(call: str, synthetic: duckdb.DuckDBPyConnection, sample_raw: Path) -> None:
    compute, arguments, keys = comparison.QUERIES[call]
    expected = compute(sample_raw, *arguments)
    assert len(expected) > 0
    raw_frames.assert_same_rows(answer(synthetic, call), expected, keys)
    assert bool(columns_with_totals(expected)) == ("with_total := true" in call)


@pytest.mark.each_trace
def test_every_query_has_a_reference_implementation(synthetic: duckdb.DuckDBPyConnection) -> None:
    rows = synthetic.execute("select query_name from catalog.queries").fetchall()
    assert {name for (name,) in rows} == {call.split("(")[0] for call in comparison.QUERIES}


def columns_with_totals(rows: pd.DataFrame) -> list[str]:
    """Return the columns that label some rows, but not all, as totals."""
    of_all = {column: rows[column].isin(WORDS_FOR_TOTALS) for column in rows}
    return [column for column, is_of_all in of_all.items() if is_of_all.any() and not is_of_all.all()]


@pytest.mark.parametrize("name", WITH_TOTAL)
def test_total_rows_follow_the_rows_they_summarise(name: str, synthetic: duckdb.DuckDBPyConnection) -> None:
    parts = answer(synthetic, f"{name}()").fetchall()
    rows = answer(synthetic, f"{name}(with_total := true)").fetchall()
    is_total = ["all" in row for row in rows]
    assert [row for row, total in zip(rows, is_total, strict=True) if not total] == parts
    assert is_total[-1] and not is_total[0]
    classes = len({row[:5] for row in rows}) if name == "openb.pending_fit" else 1
    assert sum(is_total) == classes


@pytest.mark.parametrize("name", WITH_TOTAL)
def test_queries_with_totals_are_compared_with_and_without_them(name: str) -> None:
    assert {f"{name}()", f"{name}(with_total := true)"} <= comparison.QUERIES.keys()
