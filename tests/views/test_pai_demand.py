"""PAI's hourly demand and shared GPUs: computed by hand on few rows, and invariants on a synthetic dump."""

from pathlib import Path

import duckdb
import pytest
import raw_dumps

# job, task, inst_num, status, start, end, plan_cpu, plan_mem, plan_gpu, type
TASKS = [
    "j1,worker,4.0,Terminated,3600.0,18000.0,600.0,10.0,50.0,T4",
    "j1,ps,1.0,Terminated,3600.0,18000.0,200.0,,,",
    "j2,worker,1.0,Terminated,3600.0,18000.0,,4.0,150.0,T4",
]
# job, task, instance, worker, inst_id, status, start, end, machine
INSTANCES = [
    "j1,worker,a,w1,i1,Terminated,5400.0,16200.0,m1",  # half of hour 1, hours 2 and 3, half of hour 4
    "j1,worker,b,w2,i1,Terminated,5400.0,7200.0,m1",  # the second half of hour 1
    "j1,worker,c,w3,i1,Running,5400.0,,m1",
    "j1,worker,d,w4,i1,Failed,28800.0,28800.0,m1",
    "j1,worker,e,w5,i1,Waiting,0.0,0.0,m1",
    "j1,ps,a,w6,i1,Terminated,7200.0,10800.0,m1",  # hour 2
    "j2,worker,a,w0,i2,Terminated,7200.0,9000.0,m1",  # half of hour 2
    "j9,worker,a,w8,i9,Terminated,36000.0,39600.0,m1",  # has no task
]
# job, task, worker, inst_id, machine, device, then utilisation
SENSORS = [
    "j1,worker,w1,i1,m1,/dev/nvidia0",
    "j1,worker,w2,i1,m1,/dev/nvidia0",  # starts with w1
    "j1,worker,w3,i1,m1,/dev/nvidia0",  # has no end
    "j1,ps,w6,i1,m1,/dev/nvidia1",  # overlaps w1, but on another GPU of the machine
    "j2,worker,w0,i2,m1,/dev/nvidia0",  # overlaps w1 and starts as w2 ends
]


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("by_hand")
    files = {
        "pai_task_table.csv": TASKS,
        "pai_instance_table.csv": INSTANCES,
        "pai_sensor_table.csv": [f"{row},1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0,1.0" for row in SENSORS],
    }
    for name, lines in files.items():
        path = folder / "raw" / "pai" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    return raw_dumps.ingested(folder / "raw", folder / "warehouse")


def test_demand_is_a_mean_over_the_hour(by_hand: duckdb.DuckDBPyConnection) -> None:
    rows = by_hand.execute(
        """
        select
            hour, running_instances, requested_cpus, requested_memory_gb, requested_gpus, sharing_gpus,
            whole_gpus, requested_gpus_if_whole, unended_instances
        from pai.demand_hourly
        order by hour
        """
    ).fetchall()
    assert rows == [
        (1, 1.0, 6.0, 10.0, 0.5, 0.5, 0.0, 1.0, 1),
        (2, 2.5, 8.0, 12.0, 1.25, 0.5, 0.75, 2.0, 0),
        (3, 1.0, 6.0, 10.0, 0.5, 0.5, 0.0, 1.0, 0),
        (4, 0.5, 3.0, 5.0, 0.25, 0.25, 0.0, 0.5, 0),
        (5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0),
        (6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0),
        (7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0),
        (8, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1),
    ]


def test_hours_are_in_chinas_time_zone(by_hand: duckdb.DuckDBPyConnection) -> None:
    """Second 0 of the trace's clock is Thursday, 1970-01-01, 08:00 in China."""
    rows = by_hand.execute(
        "select hour, weekday, hour_of_day from pai.demand_hourly order by hour"
    ).fetchall()
    assert rows == [(hour, 4, 8 + hour) for hour in range(1, 9)]


def at_hour(hour: int, span: str = "1800.0") -> str:
    """Return an instance of half a GPU that starts in the middle of an hour.

    It ends after `span` seconds, or has no end if `span` is empty.
    """
    start = 3600 * hour + 1800
    end = "" if not span else start + float(span)
    return f"j1,worker,a{hour}{span},w{hour}{span},i1,Terminated,{start}.0,{end},m1"


def test_days_begin_like_the_publishers(tmp_path: Path) -> None:
    """Profiles cover seven weeks from a Sunday at midnight, hour 568, and count unended instances in them."""
    instances = [at_hour(hour) for hour in (137, 567, 568, 1743, 1744)]
    instances += [at_hour(568, "900.0"), at_hour(567, ""), at_hour(592, ""), at_hour(1744, "")]
    for name, lines in (("task", TASKS), ("instance", instances)):
        path = tmp_path / "raw" / "pai" / f"pai_{name}_table.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    with raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse") as connection:
        columns = "weekday, hour_of_day, mean_requested_gpus, hours, unended_instances"
        by_week = connection.execute(f"select {columns} from pai.demand_by_week_hour()").fetchall()
        by_day = connection.execute(
            "select hour_of_day, mean_requested_gpus, hours, unended_instances"
            " from pai.demand_by_hour_of_day()"
        ).fetchall()
        every = "select sum(hours), sum(unended_instances) from pai.demand_by_week_hour(0, 100000)"
        spans = connection.execute(every).fetchall()
    # Means over seven weeks. Hour 568 has half a GPU for 30 min and for 15 min, hour 1743 for 30 min.
    assert len(by_week) == 168
    assert by_week[6 * 24] == (7, 0, pytest.approx(0.375 / 7), 7, 0)
    assert by_week[5 * 24 + 23] == (6, 23, pytest.approx(0.25 / 7), 7, 0)
    assert sum(row[2] for row in by_week) == pytest.approx(0.625 / 7)
    # Hour 592 is the first hour of Monday.
    assert [row[:2] for row in by_week if row[4]] == [(1, 0)]
    assert by_day[0] == (0, pytest.approx(0.375 / 49), 49, 1)
    assert by_day[23] == (23, pytest.approx(0.25 / 49), 49, 0)
    # The last instance ends as hour 1745 begins, so 1745 is the last hour.
    assert spans == [(1745 - 137 + 1, 3)]


def test_queries_by_hour_run_despite_a_time_far_beyond_the_trace(tmp_path: Path) -> None:
    """Ingest rejects times after 2099. Queries by hour need little memory for the last accepted time."""
    ends = {"last": 4_102_444_800.0, "e12": 1e12, "e13": 1e13, "e15": 1e15}
    usual = [at_hour(hour) for hour in range(600, 640)]
    instances = [
        *usual,
        *(f"j1,worker,{name},w1,i1,Terminated,5400.0,{end},m1" for name, end in ends.items()),
    ]
    for name, lines in (("task", TASKS), ("instance", instances)):
        path = tmp_path / "raw" / "pai" / f"pai_{name}_table.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    with raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse") as connection:
        rejected = connection.execute("select reason from catalog.rejected_rows").fetchall()
        assert rejected == [("column end_time (DOUBLE): longer than the time from 1970 to 2099",)] * 3
        connection.execute("set memory_limit = '1GB'")
        queries = ("demand_by_hour_of_day", "demand_by_week_hour", "sharing_savings", "load_over_time")
        for query in queries:
            assert connection.execute(f"from pai.{query}()").fetchall() != [], query


def test_no_demand_is_lost(synthetic: duckdb.DuckDBPyConnection) -> None:
    ((planned,),) = synthetic.execute(
        """
        select [
            sum(end_s - start_s), sum((end_s - start_s) * plan_cpu / 100),
            sum((end_s - start_s) * plan_mem), sum((end_s - start_s) * plan_gpu / 100),
        ]
        from (
            select start_time as start_s, end_time as end_s, job_name, task_name
            from pai.instance
            where start_time > 0 and end_time > start_time
        )
        join pai.task using (job_name, task_name)
        """
    ).fetchall()
    ((held,),) = synthetic.execute(
        """
        select [
            3600 * sum(running_instances), 3600 * sum(requested_cpus),
            3600 * sum(requested_memory_gb), 3600 * sum(requested_gpus),
        ]
        from pai.demand_hourly
        """
    ).fetchall()
    assert min(planned) > 0
    assert held == pytest.approx(planned, rel=1e-9)


def test_each_gpu_is_shared_or_whole_in_every_hour(synthetic: duckdb.DuckDBPyConnection) -> None:
    hours, span, sharing, whole, unlike, fewer = synthetic.execute(
        """
        select
            count(*), max(hour) - min(hour) + 1, max(sharing_gpus), max(whole_gpus),
            count(*) filter (where abs(sharing_gpus + whole_gpus - requested_gpus) > 1e-9),
            count(*) filter (where requested_gpus_if_whole < requested_gpus - 1e-9)
        from pai.demand_hourly
        """
    ).fetchall()[0]
    assert hours == span
    assert sharing > 0
    assert whole > 0
    assert (unlike, fewer) == (0, 0)


def test_a_pair_shares_a_device_only_if_the_runs_overlap(by_hand: duckdb.DuckDBPyConnection) -> None:
    rows = by_hand.execute(
        """
        select
            worker_name, other_worker_name, job_name, other_job_name,
            overlap_start_s, overlap_end_s, overlap_s, is_same_job
        from pai.gpu_sharing
        order by all
        """
    ).fetchall()
    assert rows == [
        ("w0", "w1", "j2", "j1", 7200.0, 9000.0, 1800.0, False),
        ("w1", "w2", "j1", "j1", 5400.0, 7200.0, 1800.0, True),
    ]


def test_gpu_sharing_lists_every_overlapping_pair(synthetic: duckdb.DuckDBPyConnection) -> None:
    """The expected pairs come from a self join of all workers, which takes too long on a full trace."""
    synthetic.execute(
        """
        create temp table by_two as
        with placed as (
            select sensor.machine, gpu_name, worker_name, start_s, end_s
            from pai.worker
            join pai.sensor using (worker_name)
            where sensor.machine is not null and gpu_name is not null and end_s > start_s
        )
        select one.machine, one.gpu_name, one.worker_name, other.worker_name as other_worker_name,
            least(one.end_s, other.end_s) - greatest(one.start_s, other.start_s) as overlap_s
        from placed as one
        join placed as other
            on one.machine = other.machine and one.gpu_name = other.gpu_name
            and one.worker_name < other.worker_name
        where greatest(one.start_s, other.start_s) < least(one.end_s, other.end_s)
        """
    )
    pairs = "(select machine, gpu_name, worker_name, other_worker_name, overlap_s from pai.gpu_sharing)"
    ((expected, missing, spare),) = synthetic.execute(
        f"""
        select
            (select count(*) from by_two),
            (select count(*) from (select * from by_two except all select * from {pairs})),
            (select count(*) from (select * from {pairs} except all select * from by_two))
        """
    ).fetchall()
    assert expected > 0
    assert (missing, spare) == (0, 0)
