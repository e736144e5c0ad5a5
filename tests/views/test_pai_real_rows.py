"""The real rows of PAI's instance table: they break no rule, and the sample has their shapes."""

from collections import Counter

import duckdb
import pytest
import raw_dumps
from conftest import NEIGHBOURS, REAL_DATA

from tracehouse.engines.duckdb.read import checks

SHAPE = """
    select
        status,
        case
            when start_time > 0 and end_time > 0 then 'both'
            when start_time > 0 then 'start'
            when end_time > 0 then 'end'
            else 'neither'
        end as times,
        worker_name is not null and machine is not null as is_placed,
        count(*) as instances
    from pai.instance
    group by all
"""


@pytest.fixture(scope="module")
def real_rows(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    table = NEIGHBOURS / "pai_tail" / "pai_instance_table.csv"
    machines = REAL_DATA / "pai" / "data" / "pai_machine_spec.tar.gz"
    if not (table.exists() and machines.exists()):
        pytest.skip(f"the real rows are not at {table.parent} and {machines.parent}")
    folder = tmp_path_factory.mktemp("real_rows")
    raw = folder / "raw" / "pai"
    raw.mkdir(parents=True)
    for file in (table, machines):
        (raw / file.name).symlink_to(file)
    return raw_dumps.ingested(raw.parent, folder / "warehouse")


def test_real_rows_break_no_rule(real_rows: duckdb.DuckDBPyConnection) -> None:
    results = checks.run_rules(real_rows, ["pai"]).to_pylist()
    broken = {result["check_name"]: result["violations"] for result in results if result["violations"]}
    assert broken == {"pai.instance.worker_name_key": 8}
    assert real_rows.execute("select count(*) from pai.instance").fetchone() == (12_000,)


def test_sample_has_the_shapes_of_the_real_rows(
    real_rows: duckdb.DuckDBPyConnection, synthetic: duckdb.DuckDBPyConnection
) -> None:
    """No failed instance has both times. Shares of statuses and times agree within 8 percentage points."""
    real, sample = (shapes(connection) for connection in (real_rows, synthetic))
    assert sample.keys() == real.keys()
    for shape, share in real.items():
        assert sample[shape] == pytest.approx(share, abs=8), shape


def shapes(connection: duckdb.DuckDBPyConnection) -> Counter[tuple[str, str, bool]]:
    """Return the percentage of the instances per status, known times, and whether they are on a machine."""
    rows = connection.execute(SHAPE).fetchall()
    total = sum(row[-1] for row in rows)
    return Counter({tuple(shape): 100 * number / total for *shape, number in rows})
