"""Load per day: a job that ends at midnight does not add an idle day."""

import datetime as dt

import duckdb
import pytest

from tracehouse.sql.query_files import query_files
from tracehouse.views.macros import macros_sql

DAY_S = 86_400


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(macros_sql())
    return connection


def create(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    [query] = [query for query in query_files() if query.full_name == name]
    connection.execute(query.path.read_text())


@pytest.mark.parametrize(("end_s", "days"), [(2 * DAY_S, 2), (2 * DAY_S + 1, 3), (2 * DAY_S - 1, 2)])
def test_last_day_of_helios(connection: duckdb.DuckDBPyConnection, end_s: int, days: int) -> None:
    connection.execute(
        """
        create schema helios;
        create table helios.gpu_count (cluster varchar, column_name varchar, "date" timestamp, gpus bigint);
        create table helios.standard_job as
        select 'Venus' as cluster, 3.0::double as requested_gpus, 0::double as submit_s, 0::double as wait_s,
            $end_s::double as end_s
        """,
        {"end_s": end_s},
    )
    create(connection, "helios.load_by_day")
    rows = connection.execute("select day, jobs, held_gpus from helios.load_by_day()").fetchall()
    assert [(day, jobs) for day, jobs, _ in rows] == [
        (dt.date(1970, 1, 1 + number), int(number == 0)) for number in range(days)
    ]
    assert sum(held for *_, held in rows) == pytest.approx(3 * end_s / DAY_S)
    assert all(held > 0 for *_, held in rows)


@pytest.mark.parametrize(("run_s", "days"), [(DAY_S, 1), (DAY_S + 1, 2), (DAY_S - 1, 1)])
def test_last_day_of_spot(connection: duckdb.DuckDBPyConnection, run_s: int, days: int) -> None:
    connection.execute(
        """
        create schema spot;
        create table spot.cluster_capacity as select 'A10' as partition_name, 8::bigint as gpus;
        create table spot.job_demand as
        select 'A10' as gpu_model, 'HP' as job_type, 2.0::double as requested_gpus, 0::bigint as submit_s,
            $run_s::bigint as run_s
        """,
        {"run_s": run_s},
    )
    create(connection, "spot.demand_by_day")
    rows = connection.execute("select day_start_s, demanded_gpus from spot.demand_by_day()").fetchall()
    assert [start_s for start_s, _ in rows] == [DAY_S * number for number in range(days)]
    assert sum(gpus for _, gpus in rows) == pytest.approx(2 * run_s / DAY_S)


@pytest.mark.parametrize(("end_s", "days"), [(2 * DAY_S, 2), (2 * DAY_S + 1, 3), (2 * DAY_S - 1, 2)])
def test_last_day_of_philly(connection: duckdb.DuckDBPyConnection, end_s: int, days: int) -> None:
    connection.execute(
        """
        create schema philly;
        create table philly.cluster_capacity as select 8::bigint as gpus;
        create table philly.job_run as select 0::double as submit_s;
        create table philly.attempt_run as
        select 3::bigint as allocated_gpus, 0::double as start_s, $end_s::double as end_s
        """,
        {"end_s": end_s},
    )
    create(connection, "philly.load_by_day")
    rows = connection.execute("select day, jobs, held_gpus from philly.load_by_day()").fetchall()
    assert [(day, jobs) for day, jobs, _ in rows] == [
        (dt.date(1970, 1, 1 + number), int(number == 0)) for number in range(days)
    ]
    assert sum(held for *_, held in rows) == pytest.approx(3 * end_s / DAY_S)
    assert all(held > 0 for *_, held in rows)
