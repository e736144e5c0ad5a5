"""Views and queries on times that DuckDB can store but that are far outside every trace.

The tests insert the times into base tables, because ingest rejects some of them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
import raw_dumps
import suites

from tracehouse.definitions.query_files import query_files
from tracehouse.definitions.view_files import view_files
from tracehouse.ingest.declare.column_types import END_OF_TIMES
from tracehouse.ingest.declare.trace import all_traces

# A Monday, 08:00 in Shanghai.
USUAL = ("2023-07-10 00:00:00+00", "2023-07-10 00:00:15+00")
FINITE = (
    "0001-01-01 (BC) 00:00:00+00",
    "0001-01-01 00:00:00+00",
    "1677-01-01 00:00:00+00",
    "1969-12-31 12:00:00+00",
    "9999-12-31 23:59:59+00",
    "290000-01-01 00:00:00+00",
)
TIMES = (*USUAL, *FINITE, "infinity", "-infinity")
GPU_METRICS = ("POWER_USAGE", "GPU_UTIL", "XID_ERRORS", "FB_USED")
VALUES = {"cluster": "'kalos'", "state": "'FAILED'", "gpu": "1", "gpu_num": "1", "server_group": "'GPU_AB'"}


def insert(connection: duckdb.DuckDBPyConnection, table: str, time: str, **values: str) -> None:
    """Insert a row with `time` in every column of times, the given values, and constants elsewhere."""
    cells = []
    for name, kind, *_ in connection.execute(f"describe {table}").fetchall():
        usual = f"timestamptz '{time}'" if "TIME ZONE" in kind else "'x'" if kind == "VARCHAR" else "10"
        cells.append((VALUES | values).get(name, usual))
    connection.execute(f"insert into {table} values ({', '.join(cells)})")


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    path = raw_dumps.without_data(tmp_path_factory.mktemp("times"), embed_tables=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute("set timezone = 'UTC'")
        for number, time in enumerate(TIMES):
            insert(connection, "acme.job_trace", time, job_id=f"'{number}'")
            insert(connection, "acme.server_power", time)
            insert(connection, "acme.node_metric", time, metric="'NODE_CPU_UTILIZATION'")
            for metric in GPU_METRICS:
                insert(connection, "acme.gpu_metric", time, metric=f"'{metric}'")
        yield connection


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> Sequence[tuple]:
    return connection.execute(sql).fetchall()


@suites.of("long")
def test_every_view_and_query_runs(acme: duckdb.DuckDBPyConnection) -> None:
    # A row for each hour until the year 290000 would be too many; ingest rejects such times.
    hourly = [f"unified.allocation_hour_v{version}" for version in (1, 2)]
    parts = {name: f"{name} where trace = 'openb'" for name in hourly}
    views = [view.versioned for view in view_files() if view.schema in ("acme", "unified")]
    names = [parts.get(view, view) for view in views]
    for query in query_files():
        if query.schema in ("acme", "unified"):
            chosen = {"on_cluster": "kalos", "in_trace": "openb"}
            arguments = [f"{p.name} := '{chosen[p.name]}'" for p in query.parameters if p.name in chosen]
            names.append(f"{query.full_name}({', '.join(arguments)})")
    assert len(names) > 50
    # Fetched as Arrow, because Python has no such years.
    answered = [name for name in names if acme.sql(f"from {name}").to_arrow_table().num_rows >= 0]
    assert answered == names


def test_arrivals_count_every_finite_time(acme: duckdb.DuckDBPyConnection) -> None:
    sql = "select jobs, cast(first_submit as varchar), cast(last_submit as varchar), same_second_pct"
    assert rows(acme, f"{sql} from acme.arrivals('kalos')") == [
        (len(USUAL + FINITE), "0001-01-01 (BC) 00:00:00+00", "290000-01-01 00:00:00+00", 0.0)
    ]


def test_every_finite_time_has_an_hour_and_a_weekday(acme: duckdb.DuckDBPyConnection) -> None:
    # 0001-01-01 is a Monday too in the Gregorian calendar.
    by_hour = "select sum(jobs), sum(jobs) filter (where hour_of_day = 8 and weekday = 1)"
    assert rows(acme, f"{by_hour} from acme.arrivals_by_hour('kalos')") == [(len(USUAL + FINITE), 3)]
    for query, least, most in (("hour_profile", 0, 23), ("weekday_profile", 1, 7)):
        place = "hour_of_day" if least == 0 else "weekday"
        found = rows(acme, f"select {place}, jobs from unified.{query}() where trace = 'acme'")
        assert sum(jobs for _, jobs in found) == len(USUAL + FINITE)
        assert all(least <= number <= most for number, _ in found)
    hours = rows(
        acme, "select hour_of_day from acme.utilization_by_hour_of_day() where hour_of_day is not null"
    )
    assert hours and all(0 <= hour < 24 for (hour,) in hours)


def test_counts_jobs_with_times_in_range(acme: duckdb.DuckDBPyConnection) -> None:
    overlap = "select jobs, failed_jobs, cast(first_submit as varchar), cast(last_end as varchar)"
    assert rows(acme, f"{overlap} from acme.overlap()") == [(len(TIMES), len(TIMES), "-infinity", "infinity")]
    usual = "select day, energy_kwh from acme.power_by_day() where year(day) = 2023"
    ((_, energy_kwh),) = rows(acme, usual)
    # 10 W for 15 s, then for 300 s, the longest time that a sample counts.
    assert energy_kwh == pytest.approx(10 * 315 / 3_600_000, rel=1e-9)


@suites.of("long")
@pytest.mark.parametrize("trace", ["dlrm", "itp", "openb", "pai", "spot", "zeus"])
def test_last_accepted_time_does_not_exhaust_memory(trace: str, tmp_path: Path) -> None:
    """Ingest rejects later times. Queries by hour return all hours up to this one."""
    with duckdb.connect(str(raw_dumps.without_data(tmp_path, embed_tables=True))) as connection:
        for table in all_traces()[trace].tables:
            seconds = [column.name for column in table.columns if column.unit == "s"]
            insert(connection, f"{trace}.{table.name}", USUAL[0])
            last = dict.fromkeys(seconds[-1:], str(int(END_OF_TIMES.timestamp())))
            insert(connection, f"{trace}.{table.name}", USUAL[0], **last)
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
        [(minutes, mean_gpu_pct)] = rows(
            connection, "select gpu_minutes, mean_gpu_pct from philly.attempt_utilization"
        )
        queries = [query.full_name for query in query_files() if query.schema == "philly"]
        answered = [q for q in queries if connection.sql(f"from {q}()").to_arrow_table().num_rows >= 0]
    # The run ends as the last minute begins, so the measurement of that minute does not count.
    assert (minutes, mean_gpu_pct) == (1, 40)
    assert answered == queries and queries
