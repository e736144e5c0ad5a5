"""PAI's demand by hour of the week, by hand, and invariants of demand and sharing on a synthetic dump."""

from pathlib import Path

import duckdb
import pytest
import raw_dumps

# job, task, inst_num, status, start, end, plan_cpu, plan_mem, plan_gpu, type
TASKS = ["j1,worker,4.0,Terminated,3600.0,18000.0,600.0,10.0,50.0,T4"]


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
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
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
