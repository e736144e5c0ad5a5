"""PAI's views on a few rows whose results can be computed by hand, and on empty tables."""

from pathlib import Path

import duckdb
import goldens
import pytest
import raw_dumps
import suites

pytestmark = suites.of("long")


def rows_of(stem: str, columns: str, *rows: tuple[object, ...]) -> list[dict[str, object]]:
    """Return rows of a table with values in the named columns and NULL in all others."""
    nothing = dict.fromkeys(raw_dumps.pai_header(stem).split(","))
    return [nothing | dict(zip(columns.split(), row, strict=True)) for row in rows]


def ingest_tables(folder: Path, **tables: list[dict[str, object]]) -> duckdb.DuckDBPyConnection:
    """Ingest these tables. The others get no archive, because ingest rejects an archive without rows."""
    raw_dumps.write_pai(folder / "raw" / "pai" / "data", tables)
    return raw_dumps.ingested(folder / "raw", folder / "warehouse")


@pytest.fixture(scope="module")
def no_rows(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    path = raw_dumps.without_data(tmp_path_factory.mktemp("no_rows"))
    return duckdb.connect(str(path), read_only=True)


LAUNCH = "worker_name inst_name status start_time end_time"
LAUNCHES = (
    # The publisher keeps the waiting row, because it sorts by status and W comes last.
    ("outcome", "a", "Terminated", 100.0, 200.0),
    ("outcome", "b", "Failed", 300.0, 400.0),
    ("outcome", "c", "Waiting", 0.0, 0.0),
    ("later", "a", "Failed", 100.0, 900.0),
    ("later", "b", "Failed", 200.0, 300.0),
    # The publisher keeps the row without an end, because a missing end sorts last.
    ("longer", "a", "Running", 100.0, None),
    ("longer", "b", "Running", 100.0, 200.0),
    ("first", "b", "Terminated", 100.0, 200.0),
    ("first", "a", "Terminated", 100.0, 200.0),
    ("odd", "a", "Interrupted", 100.0, 200.0),
    ("odd", "b", "Waiting", None, None),
    ("stopped", "a", "Running", 100.0, None),
    ("stopped", "b", "Interrupted", None, 300.0),
    ("zero", "a", None, 0.0, 200.0),
    (None, "a", "Terminated", 100.0, 200.0),
)


def test_the_best_outcome_of_a_worker(tmp_path: Path) -> None:
    with ingest_tables(
        tmp_path, pai_instance_table=rows_of("pai_instance_table", LAUNCH, *LAUNCHES)
    ) as connection:
        rows = connection.execute(
            "select worker_name, inst_name, status, start_s, end_s, run_s, runs, is_publishers_choice"
            " from pai.worker_by_outcome order by worker_name"
        ).fetchall()
        first_version = connection.execute(
            "select worker_name, status from pai.worker_by_outcome_v1 where worker_name in ('odd', 'stopped')"
        ).fetchall()
    assert rows == [
        ("first", "a", "Terminated", 100, 200, 100, 2, True),
        ("later", "b", "Failed", 200, 300, 100, 2, True),
        ("longer", "b", "Running", 100, 200, 100, 2, False),
        ("odd", "a", "Interrupted", 100, 200, 100, 2, False),
        ("outcome", "a", "Terminated", 100, 200, 100, 3, False),
        ("stopped", "b", "Interrupted", None, 300, None, 2, False),
        ("zero", "a", None, None, 200, None, 1, True),
    ]
    # Version 1 knows four statuses.
    assert sorted(first_version) == [("odd", "Waiting"), ("stopped", "Running")]


def test_time_of_failed_tasks_without_a_time_is_unknown(tmp_path: Path) -> None:
    """Failed instances have a start or an end. If no failed task has both, its GPU time is NULL, not 0."""
    tasks = rows_of(
        "pai_task_table",
        "job_name task_name inst_num status start_time plan_gpu",
        ("j1", "worker", 1.0, "Terminated", 1_000.0, 100.0),
        ("j2", "worker", 1.0, "Failed", 1_000.0, 100.0),
        ("j3", "worker", 2.0, "Failed", 1_000.0, 100.0),
    )
    launches = rows_of(
        "pai_instance_table",
        "job_name task_name worker_name status start_time end_time",
        ("j1", "worker", "w1", "Terminated", 1_010.0, 1_110.0),
        ("j2", "worker", "w2", "Failed", 1_020.0, None),
        ("j3", "worker", "w3", "Failed", None, 1_200.0),
        ("j3", "worker", "w4", "Interrupted", None, 1_200.0),
    )
    with ingest_tables(tmp_path, pai_task_table=tasks, pai_instance_table=launches) as connection:
        [share] = connection.execute(
            "select failed_of_all_pct, failed_gpu_time_pct, low_failed_gpu_time_pct,"
            " high_failed_gpu_time_pct, covered_failed_pct from unified.failure_share()"
        ).fetchall()
        costs = connection.execute(
            "select outcome, jobs, held_gpu_h * 3600, gpu_time_pct, uncovered_pct from unified.failure_cost()"
        ).fetchall()
        [summary] = connection.execute(
            "select failed_share, failed_gpu_s, failed_gpu_time_share, cancelled_gpu_time_share,"
            " completed_gpu_time_share from unified.summary"
        ).fetchall()
        statuses = connection.execute(
            "select status, entries from pai.status_counts(at_level := 'instance') order by status"
        ).fetchall()
        runs = connection.execute(
            "select status, tasks_with_run, held_gpu_h from pai.run_by_status() order by status"
        ).fetchall()
        caveats = connection.execute(
            "select distinct query_name from catalog.queries"
            " where list_contains(caveats, 'pai.failed_time_unknown') order by query_name"
        ).fetchall()
    assert share == (pytest.approx(200 / 3), None, None, None, 0)
    assert costs == [
        ("completed", 1, pytest.approx(100), 100, 0),
        ("failed", 1, None, None, 100),
        ("failed", 1, None, None, 100),
    ]
    assert summary == (pytest.approx(2 / 3), None, None, 0, 1)
    assert statuses == [("Failed", 2), ("Interrupted", 1), ("Terminated", 1)]
    assert runs == [("Failed", 0, None), ("Terminated", 1, pytest.approx(100 / 3600))]
    for query in ("pai.run_by_status", "unified.failure_cost", "unified.failure_share"):
        assert (query,) in caveats


def test_a_task_run_is_whole_if_every_instance_ended(tmp_path: Path) -> None:
    launches = rows_of(
        "pai_instance_table",
        "job_name task_name start_time end_time",
        ("j", "whole", 100.0, 200.0),
        ("j", "whole", 150.0, 400.0),
        ("j", "running", 100.0, 200.0),
        ("j", "running", 50.0, None),
        ("j", "never started", 0.0, 900.0),
        ("j", None, 1.0, 2.0),
        ("orphan", "whole", 1.0, 2.0),
    )
    names = ["whole", "running", "never started", "no instances"]
    tasks = rows_of("pai_task_table", "job_name task_name", *(("j", name) for name in names))
    with ingest_tables(tmp_path, pai_task_table=tasks, pai_instance_table=launches) as connection:
        rows = connection.execute(
            "select task_name, launched_instances, started_instances, ended_instances,"
            " first_start_s, last_end_s, run_s, instance_run_s, is_run_whole from pai.task_run_v1"
        ).fetchall()
    assert sorted(rows) == [
        ("never started", 1, 0, 0, None, None, None, None, False),
        ("no instances", 0, 0, 0, None, None, None, None, False),
        ("running", 2, 2, 1, 50, 200, 150, 100, False),
        ("whole", 2, 2, 2, 100, 400, 300, 175, True),
    ]


def test_workers_share_a_gpu_if_their_runs_overlap(tmp_path: Path) -> None:
    places = {
        "a": ("m1", "/dev/nvidia0", 100.0, 200.0, "j1"),
        "b": ("m1", "/dev/nvidia0", 150.0, 250.0, "j1"),
        # Begins as `a` ends.
        "c": ("m1", "/dev/nvidia0", 200.0, 300.0, "j2"),
        "another device": ("m1", "/dev/nvidia1", 100.0, 300.0, "j1"),
        "another machine": ("m2", "/dev/nvidia0", 100.0, 300.0, "j1"),
        "no device": ("m1", None, 100.0, 300.0, "j1"),
        "no machine": (None, "/dev/nvidia0", 100.0, 300.0, "j1"),
        "an instant": ("m1", "/dev/nvidia0", 160.0, 160.0, "j1"),
        "no end": ("m1", "/dev/nvidia0", 100.0, None, "j1"),
        "no start": ("m1", "/dev/nvidia0", 0.0, 300.0, "j1"),
        # The last of three hours that it runs in is its last second.
        "long": ("m2", "/dev/nvidia1", 3_500.0, 7_201.0, "j3"),
        "third hour": ("m2", "/dev/nvidia1", 7_200.0, 7_300.0, "j4"),
    }
    launches = [(worker, "Terminated", *place[2:], "m9") for worker, place in places.items()]
    columns = "worker_name status start_time end_time job_name machine"
    # The sensor table, not the instance table, determines the machine of a worker.
    sensors = [(worker, *place[:2]) for worker, place in places.items()]
    specified = rows_of("pai_machine_spec", "machine gpu_type cap_gpu", ("m1", "T4", 2), ("m9", "P100", 2))
    with ingest_tables(
        tmp_path,
        pai_instance_table=rows_of("pai_instance_table", columns, *launches),
        pai_sensor_table=rows_of("pai_sensor_table", "worker_name machine gpu_name", *sensors),
        pai_machine_spec=specified,
    ) as connection:
        pairs = connection.execute("from pai.gpu_sharing_v1 order by worker_name").fetchall()
        types = connection.execute("from pai.gpu_sharing_by_type()").fetchall()
    assert pairs == [
        ("m1", "/dev/nvidia0", "a", "b", "j1", "j1", 150, 200, 50, True),
        ("m1", "/dev/nvidia0", "b", "c", "j1", "j2", 200, 250, 50, False),
        ("m2", "/dev/nvidia1", "long", "third hour", "j3", "j4", 7_200, 7_201, 1, False),
    ]
    assert types == [("T4", 4, 3, 75, 2, 50), (None, 3, 2, pytest.approx(200 / 3), 1, 1)]


def test_demand_is_split_at_hours(tmp_path: Path) -> None:
    launches = rows_of(
        "pai_instance_table",
        "job_name task_name start_time end_time",
        # 100 s of hour 0, all of hour 1 and 200 s of hour 2.
        ("j", "half", 3_500.0, 7_400.0),
        # Half of hour 1; hour 2 begins as it ends.
        ("j", "three", 3_600.0, 5_400.0),
        ("j", "cpu", 5_400.0, 7_200.0),
        # Left out of the demand: no end, an end of 0, an end at the start.
        ("j", "half", 3_700.0, None),
        ("j", "half", 18_000.0, 0.0),
        ("j", "half", 3_800.0, 3_800.0),
        # Ignored: an instance that never started, and one without a task.
        ("j", "half", 0.0, 90_000.0),
        ("j", "no such", 100.0, 90_000.0),
    )
    plans = [
        ("j", "half", 50.0, 600.0, 8.0),
        ("j", "three", 250.0, None, None),
        ("j", "cpu", None, 100.0, 1.0),
    ]
    tasks = rows_of("pai_task_table", "job_name task_name plan_gpu plan_cpu plan_mem", *plans)
    with ingest_tables(tmp_path, pai_task_table=tasks, pai_instance_table=launches) as connection:
        hours = connection.execute("from pai.demand_hourly_v1 order by hour").fetchall()
        savings = connection.execute("from pai.sharing_savings()").fetchall()
    early, late = 100 / 3_600, 200 / 3_600
    # Hour 0 of the clock is 8 o'clock on a Thursday in UTC+8.
    wanted = [
        (0, 0, 4, 8, early, 6 * early, 8 * early, early / 2, early / 2, 0, early, 0),
        (1, 3_600, 4, 9, 2, 6.5, 8.5, 1.75, 0.5, 1.25, 2.5, 2),
        (2, 7_200, 4, 10, late, 6 * late, 8 * late, late / 2, late / 2, 0, late, 0),
        (3, 10_800, 4, 11, 0, 0, 0, 0, 0, 0, 0, 0),
        (4, 14_400, 4, 12, 0, 0, 0, 0, 0, 0, 0, 0),
        (5, 18_000, 4, 13, 0, 0, 0, 0, 0, 0, 0, 1),
    ]
    assert hours == [pytest.approx(hour, rel=1e-12, abs=1e-12) for hour in wanted]
    requested, if_whole = 1.75 + (early + late) / 2, 2.5 + early + late
    saved = if_whole - requested
    means = requested / 6, if_whole / 6, saved / 6
    assert savings == [pytest.approx((6, *means, 100 * saved / if_whole, 0.75, 1), rel=1e-12)]


def test_counts_tasks_that_never_started_next_to_waits(tmp_path: Path) -> None:
    tasks = (
        ("short", "Terminated", 100.0, 50.0, "T4"),
        ("long", "Failed", 100.0, 100.0, "T4"),
        ("running", "Running", 100.0, 50.0, "T4"),
        ("waiting", "Waiting", None, 50.0, "T4"),
        ("no instance", "Waiting", 100.0, 50.0, "P100"),
        ("its instance waits", "Waiting", 100.0, 100.0, None),
        ("cpu", "Terminated", 100.0, None, None),
        # A task without a job name joins no instance.
        (None, "Terminated", 100.0, None, None),
    )
    launches = (
        ("short", 130.0, 140.0),
        ("long", 110.0, 4_110.0),
        ("running", 120.0, None),
        ("its instance waits", 0.0, 0.0),
        ("cpu", 105.0, 115.0),
    )
    columns = "job_name task_name status start_time plan_gpu gpu_type"
    with ingest_tables(
        tmp_path,
        pai_task_table=rows_of("pai_task_table", columns, *((name, "t", *task) for name, *task in tasks)),
        pai_instance_table=rows_of(
            "pai_instance_table",
            "job_name task_name start_time end_time",
            *((name, "t", *times) for name, *times in launches),
        ),
    ) as connection:
        counts = "tasks, never_started_tasks"
        by_type = connection.execute(
            f"select gpu_type, {counts}, median_wait_s from pai.wait_by_gpu_type()"
        ).fetchall()
        by_sharing = connection.execute(
            f"select request, {counts}, median_wait_s from pai.wait_by_sharing()"
        ).fetchall()
        cdf = connection.execute(
            f"select gpu_type, {counts}, share_pct from pai.wait_cdf() where wait_s = 10"
        ).fetchall()
        shares = connection.execute("from pai.wait_share()").fetchall()
    assert by_type == [("P100", 0, 1, None), ("T4", 3, 1, 20), (None, 0, 1, None)]
    assert by_sharing == [("shared GPU", 2, 2, 25), ("whole GPUs", 1, 1, 10)]
    assert cdf == [("P100", 0, 1, None), ("T4", 1, 1, pytest.approx(100 / 3))]
    assert shares == [
        ("short", 2, 4, 1, 50, pytest.approx((30 / 40 + 5 / 15) / 2)),
        ("long", 1, 4, 1, 0, pytest.approx(10 / 4_010)),
    ]


def test_machine_use_counts_each_second_once_and_divides_by_gpus(tmp_path: Path) -> None:
    """Two workers measure machine p at the same time. P100 machines have two GPUs, MISC machines eight."""
    workers = (
        # a runs alone for 100 s, then with b for 100 s, then b alone for 200 s. b has no load.
        ("a", "p", 100, 300, 10.0, 40.0, 1.0),
        ("b", "p", 200, 500, 30.0, 80.0, None),
        ("c", "m", 100, 200, 50.0, 240.0, 8.0),
        # Another machine of the same type, measured for three times as long.
        ("d", "m2", 100, 400, 10.0, 80.0, 4.0),
        ("e", "cpu", 100, 200, 10.0, None, 2.0),
        ("f", "nowhere", 100, 200, 10.0, 50.0, 2.0),
        # Left out: no start, no duration, and no instance.
        ("g", "p", 0, 300, 99.0, 99.0, 99.0),
        ("h", "p", 300, 300, 99.0, 99.0, 99.0),
        ("unlisted", "p", 100, 300, 99.0, 99.0, 99.0),
    )
    names = "worker_name machine start_time end_time machine_cpu machine_gpu machine_load_1"
    launches = [(worker[0],) for worker in workers if worker[0] != "unlisted"]
    machines = (("p", "P100", 2), ("m", "MISC", 8), ("m2", "MISC", 8), ("cpu", "CPU", 0))
    with ingest_tables(
        tmp_path,
        pai_machine_metric=rows_of("pai_machine_metric", names, *workers),
        pai_instance_table=rows_of("pai_instance_table", "worker_name", *launches),
        pai_machine_spec=rows_of("pai_machine_spec", "machine gpu_type cap_gpu", *machines),
    ) as connection:
        rows = connection.execute("from pai.machine_use_by_type()").fetchall()
    # Of the 400 s of machine p, 150 s belong to worker a (100 s and half of 100 s), and 250 s to worker b.
    cpu, gpu = (10 * 150 + 30 * 250) / 400, (40 * 150 + 80 * 250) / 400
    assert rows == [
        ("CPU", 1, 1, pytest.approx(100 / 3_600), 10, None, 2),
        ("MISC", 2, 2, pytest.approx(400 / 3_600), 20, pytest.approx((240 + 3 * 80) / 4 / 8), 5),
        ("P100", 1, 2, pytest.approx(400 / 3_600), pytest.approx(cpu), pytest.approx(gpu / 2), 1),
        (None, 1, 1, pytest.approx(100 / 3_600), 10, None, 2),
    ]


# A task without a start, seven tasks within 21 s of which two fail, and a much later task that fails.
STARTS = ((0.0, "Waiting"), *((at, "Terminated") for at in (10.0, 10.0, 12.0, 14.0, 20.0)))
STARTS += ((30.0, "Failed"), (31.0, "Failed"), (1_010.0, "Failed"))


def test_failures_over_time_splits_by_tasks_or_by_time(tmp_path: Path) -> None:
    tasks = [(str(number), "t", start, status) for number, (start, status) in enumerate(STARTS)]
    made_of = rows_of("pai_task_table", "job_name task_name start_time status", *tasks)
    parts = "select tasks, failed_tasks, failed_pct from pai.failures_over_time({})"
    with ingest_tables(tmp_path, pai_task_table=made_of) as connection:
        by_tasks = connection.execute(parts.format("")).fetchall()
        by_time = connection.execute(parts.format("by_time := true")).fetchall()
        in_eight = connection.execute(parts.format("in_parts := 8")).fetchall()
    assert by_tasks == [(2, 0, 0), (2, 0, 0), (2, 1, 50), (2, 2, 100)]
    assert by_time == [(7, 2, pytest.approx(200 / 7)), (0, 0, None), (0, 0, None), (1, 1, 100)]
    # Tasks that start together stay in the same part.
    assert [tasks for tasks, *_ in in_eight] == [2, 0, 1, 1, 1, 1, 1, 1]


# One row of each table, which all join. The instance starts at the first start of the real trace.
ONE_ROW_EACH = {
    "pai_job_table": rows_of("pai_job_table", "job_name inst_id user start_time", ("j", "i", "u", 494_317.0)),
    "pai_task_table": rows_of(
        "pai_task_table",
        "job_name task_name inst_num status start_time plan_cpu plan_mem plan_gpu gpu_type",
        ("j", "t", 1.0, "Terminated", 494_317.0, 100.0, 1.0, 50.0, "T4"),
    ),
    "pai_instance_table": rows_of(
        "pai_instance_table",
        "job_name task_name worker_name status start_time end_time machine",
        ("j", "t", "w", "Terminated", 494_319.0, 494_329.0, "m"),
    ),
    "pai_sensor_table": rows_of(
        "pai_sensor_table",
        "job_name task_name worker_name machine gpu_name cpu_usage gpu_wrk_util avg_mem",
        ("j", "t", "w", "m", "/dev/nvidia0", 50.0, 25.0, 0.5),
    ),
    "pai_group_tag_table": rows_of("pai_group_tag_table", "inst_id user group", ("i", "u", "g")),
    "pai_machine_spec": rows_of(
        "pai_machine_spec", "machine gpu_type cap_cpu cap_mem cap_gpu", ("m", "T4", 96, 512, 2)
    ),
    "pai_machine_metric": rows_of(
        "pai_machine_metric",
        "worker_name machine start_time end_time machine_cpu",
        ("w", "m", 494_319, 494_329, 50.0),
    ),
}
STATEMENTS = goldens.statements((goldens.FOLDER / "pai.txt").read_text(encoding="utf-8"))
VIEWS = [statement.removeprefix("from ") for statement in STATEMENTS if "(" not in statement]
VIEWS_OF_FIXED_ROWS = ("pai.join_coverage_v1", "pai.status_by_level_v1")


def test_one_row_of_each_table_makes_one_row_of_each_view(tmp_path: Path) -> None:
    views = [view for view in VIEWS if view not in VIEWS_OF_FIXED_ROWS]
    with ingest_tables(tmp_path, **ONE_ROW_EACH) as connection:
        counts = {view: len(connection.execute(f"from {view}").fetchall()) for view in views}
        clock = connection.execute("select hour, weekday, hour_of_day from pai.demand_hourly_v1").fetchall()
    # A single worker does not share its GPU, and runs once.
    assert counts == dict.fromkeys(views, 1) | {"pai.gpu_sharing_v1": 0, "pai.rerun_worker_v1": 0}
    # By its clock, the trace's first start is Wednesday, 7 January 1970, 01:18:39.
    assert clock == [(137, 3, 1)]


@pytest.mark.parametrize("without", ["pai_task_table", "pai_instance_table", "pai_machine_spec"])
def test_views_and_queries_run_if_one_table_is_empty(without: str, tmp_path: Path) -> None:
    tables = {stem: rows for stem, rows in ONE_ROW_EACH.items() if stem != without}
    with ingest_tables(tmp_path, **tables) as connection:
        for statement in STATEMENTS:
            connection.execute(statement).fetchall()


@pytest.mark.parametrize(
    ("call", "columns", "rows"),
    [
        ("pai.totals()", "entries", [(None,)] * 10),
        ("pai.gpu_request_bands()", "tasks, share_pct", [(0, None)] * 5),
        ("pai.gang_sizes()", "tasks, instances, tasks_pct, instances_pct", [(0, 0, None, None)] * 10),
        ("pai.group_recurrence()", "tasks, tasks_pct", [(0, None)] * 7),
        ("pai.request_percentiles()", "requests, median, at_percentile", [(0, None, None)] * 3),
        ("pai.failures_over_time()", "tasks, failed_tasks, failed_pct", [(0, 0, None)] * 4),
        ("pai.wait_share()", "tasks, waited_over_pct, median_wait_share", [(0, None, None)] * 2),
        ("pai.sharing_savings()", "hours, saved_pct, peak_saved_gpus, peak_hour", [(0, None, None, None)]),
        ("pai.user_concentration()", "users, top_users, top_instances_pct", [(0, 0, None)]),
        ("pai.coverage()", "left_matched_pct, right_multiply_matched", [(None, 0)] * 9),
        ("pai.join_coverage_v1", "left_rows, right_unmatched, joined_rows", [(0, 0, 0)] * 9),
        ("pai.demand_hourly_v1", "hour", []),
    ],
)
def test_results_on_empty_tables(
    call: str, columns: str, rows: list[tuple[object, ...]], no_rows: duckdb.DuckDBPyConnection
) -> None:
    assert no_rows.execute(f"select {columns} from {call}").fetchall() == rows


def test_a_worker_shares_only_if_its_gpu_is_in_use_at_its_start(tmp_path: Path) -> None:
    """The long run starts alone and overlaps another worker only later, so it counts as unshared."""
    runs = {"long": (100, 1000, "gpu0"), "joined": (200, 500, "gpu0"), "alone": (100, 200, "gpu1")}
    key = "job_name task_name worker_name"
    connection = ingest_tables(
        tmp_path,
        pai_job_table=rows_of(
            "pai_job_table", "job_name inst_id user", *((name, name, "u") for name in runs)
        ),
        pai_task_table=rows_of(
            "pai_task_table", "job_name task_name gpu_type", *((name, "worker", "T4") for name in runs)
        ),
        pai_instance_table=rows_of(
            "pai_instance_table",
            f"{key} status start_time end_time machine",
            *((n, "worker", n, "Terminated", start, end, "m1") for n, (start, end, _) in runs.items()),
        ),
        pai_sensor_table=rows_of(
            "pai_sensor_table",
            f"{key} machine gpu_name",
            *((name, "worker", name, "m1", gpu) for name, (_, _, gpu) in runs.items()),
        ),
    )
    columns = "workers, sharing_workers, compared_workers, groups, slower_pct, median_slowdown"
    with connection:
        found = connection.execute(f"select {columns} from pai.colocation_slowdown(1)").fetchall()
    assert found == [(3, 1, 3, 1, 0, pytest.approx(300 / 500))]


def test_days_begin_like_the_publishers(tmp_path: Path) -> None:
    """Profiles cover seven weeks from a Sunday at midnight, hour 568, and count unended instances in them."""
    # Instances of half a GPU start in the middle of an hour, and run for some seconds or have no end.
    runs = [(hour, 1800) for hour in (137, 567, 568, 1743, 1744)] + [(568, 900)]
    runs += [(hour, None) for hour in (567, 592, 1744)]
    starts = [(3600.0 * hour + 1800, span) for hour, span in runs]
    launches = [("j1", "worker", start, None if span is None else start + span) for start, span in starts]
    columns = "job_name task_name start_time end_time"
    with ingest_tables(
        tmp_path,
        pai_task_table=rows_of("pai_task_table", "job_name task_name plan_gpu", ("j1", "worker", 50.0)),
        pai_instance_table=rows_of("pai_instance_table", columns, *launches),
    ) as connection:
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
