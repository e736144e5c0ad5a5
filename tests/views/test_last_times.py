"""Queries on the last time of a trace: an end at midnight adds no idle day, and memory suffices."""

import datetime as dt
from pathlib import Path

import duckdb
import pytest
import raw_dumps
import suites

from tracehouse.definitions.macros import macros_sql
from tracehouse.definitions.query_files import query_files
from tracehouse.ingest.declare.column_types import END_OF_TIMES
from tracehouse.ingest.declare.trace import all_traces

DAY_S = 86_400
USUAL = "2023-07-10 00:00:00+00"
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


def insert(connection: duckdb.DuckDBPyConnection, table: str, **values: str) -> None:
    """Insert a row with the given values, and constants elsewhere."""
    cells = []
    for name, kind, *_ in connection.execute(f"describe {table}").fetchall():
        usual = f"timestamptz '{USUAL}'" if "TIME ZONE" in kind else "'x'" if kind == "VARCHAR" else "10"
        cells.append(values.get(name, usual))
    connection.execute(f"insert into {table} values ({', '.join(cells)})")


@suites.of("long")
@pytest.mark.parametrize("trace", ["dlrm", "itp", "openb", "pai", "spot", "zeus"])
def test_last_accepted_time_does_not_exhaust_memory(trace: str, tmp_path: Path) -> None:
    """Ingest rejects later times. Queries by hour return all hours up to this one."""
    with duckdb.connect(str(raw_dumps.without_data(tmp_path, embed_tables=True))) as connection:
        for table in all_traces()[trace].tables:
            seconds = [column.name for column in table.columns if column.unit == "s"]
            insert(connection, f"{trace}.{table.name}")
            last = dict.fromkeys(seconds[-1:], str(int(END_OF_TIMES.timestamp())))
            insert(connection, f"{trace}.{table.name}", **last)
        connection.execute("set memory_limit = '1GB'")
        queries = [query.full_name for query in query_files() if query.schema == trace]
        answered = [q for q in queries if connection.sql(f"from {q}()").to_arrow_table().num_rows >= 0]
    assert answered == queries and queries


def test_attempt_until_the_last_time_does_not_exhaust_memory(tmp_path: Path) -> None:
    """A run of 80 years and a measurement at its end are joined by day, not by minute."""
    usual, last = "2017-10-04 08:00:00", "2099-12-31 23:59:00"
    with duckdb.connect(str(raw_dumps.without_data(tmp_path, embed_tables=True))) as connection:
        connection.execute(f"""
            set timezone = 'UTC';
            set memory_limit = '500MB';
            insert into philly.job (jobid, submitted_time) values ('a', timestamp '{usual}');
            insert into philly.attempt values ('a', 0, timestamp '{usual}', timestamp '{last}');
            insert into philly.attempt_machine (jobid, attempt, detail, ip, gpus)
            select 'a', 0, number, 'm' || number, ['gpu0'] from range(100) as machines(number);
            insert into philly.gpu_util (time, time_utc_offset, machine_id, gpu0_util)
            select timestamptz '{usual}-07', '-07:00', 'm1', 40 union all
            select timestamptz '{last}-08', '-08:00', 'm1', 60;
        """)
        minutes = connection.execute("select gpu_minutes, mean_gpu_pct from philly.attempt_utilization")
        minutes = minutes.fetchall()
        queries = [query.full_name for query in query_files() if query.schema == "philly"]
        answered = [q for q in queries if connection.sql(f"from {q}()").to_arrow_table().num_rows >= 0]
    # The run ends as the last minute begins, so the measurement of that minute does not count.
    assert minutes == [(1, 40)]
    assert answered == queries and queries
