"""Load per day: a job that ends at midnight does not add an idle day."""

import datetime as dt

import duckdb
import pytest

from tracehouse.definitions.macros import macros_sql
from tracehouse.definitions.query_files import query_files

DAY_S = 86_400


# The query of each trace, and the tables that it reads: a job that begins at 0 and ends at {end_s}.
TABLES = {
    "helios.load_by_day": """
        create table helios.gpu_count (cluster varchar, column_name varchar, "date" timestamp, gpus bigint);
        create table helios.standard_job as
        select 'Venus' as cluster, 3.0::double as requested_gpus, 0::double as submit_s, 0::double as wait_s,
            {end_s}::double as end_s
        """,
    "philly.load_by_day": """
        create table philly.cluster_capacity as select 8::bigint as gpus;
        create table philly.job_run as select 0::double as submit_s;
        create table philly.attempt_run as
        select 3::bigint as allocated_gpus, 0::double as start_s, {end_s}::double as end_s
        """,
    "spot.demand_by_day": """
        create table spot.cluster_capacity as select 'A10' as partition_name, 8::bigint as gpus;
        create table spot.job_demand as
        select 'A10' as gpu_model, 'HP' as job_type, 3.0::double as requested_gpus, 0::bigint as submit_s,
            {end_s}::bigint as run_s
        """,
}


@pytest.mark.parametrize("query", TABLES)
def test_last_day(query: str) -> None:
    [path] = [one.path for one in query_files() if one.full_name == query]
    for end_s, days in ((2 * DAY_S, 2), (2 * DAY_S + 1, 3), (2 * DAY_S - 1, 2)):
        connection = duckdb.connect()
        connection.execute(f"{macros_sql()}; create schema {query.partition('.')[0]}")
        connection.execute(TABLES[query].format(end_s=end_s))
        connection.execute(path.read_text(encoding="utf-8"))
        if query.startswith("spot."):
            rows = connection.execute(f"select day_start_s, demanded_gpus from {query}()").fetchall()
            assert [start_s for start_s, _ in rows] == [DAY_S * number for number in range(days)]
        else:
            rows = connection.execute(f"select day, jobs, held_gpus from {query}()").fetchall()
            assert [(day, jobs) for day, jobs, _ in rows] == [
                (dt.date(1970, 1, 1 + number), int(number == 0)) for number in range(days)
            ]
        assert sum(held for *_, held in rows) == pytest.approx(3 * end_s / DAY_S)
        assert all(held > 0 for *_, held in rows)
