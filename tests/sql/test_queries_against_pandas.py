"""Every named query against the same answer computed by pandas from the raw files."""

from pathlib import Path

import comparison
import duckdb
import pytest
import raw_frames

TOTALS_LAST = (
    "itp.gpu_hours()",
    "openb.capacity_by_model()",
    "openb.memory()",
    "openb.pending_fit_by_model()",
    "pai.machines()",
    "zeus.recurring_replay()",
    "zeus.train_coverage()",
)


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


def test_every_query_is_compared(synthetic: duckdb.DuckDBPyConnection) -> None:
    rows = synthetic.execute("select query_name from catalog.queries").fetchall()
    assert {name for (name,) in rows} == {call.split("(")[0] for call in comparison.QUERIES}


@pytest.mark.parametrize("call", TOTALS_LAST)
def test_total_stands_last(call: str, synthetic: duckdb.DuckDBPyConnection) -> None:
    assert answer(synthetic, call).fetchall()[-1][0] == "all"
