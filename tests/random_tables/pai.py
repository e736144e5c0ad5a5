"""Random PAI tables, and invariants of joins, demand and sharing in plain Python.

The tables contain cases that are rare in the sample: missing keys, orphans on both sides of every join,
workers that are launched several times or share devices, plans and capacities of 0, missing sizes and
statuses, and times that are missing, 0, equal, reversed or on a full hour.
"""

from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from random import Random

import duckdb
import pytest
import raw_dumps
from twins import pai as reference

from random_tables import Case

HOUR_S = 3_600
Tables = dict[str, list[dict[str, object]]]
Draw = Callable[[Random], object]

# The unique key of each table. The instance table has none.
KEYS = {
    "pai_job_table": ("job_name",),
    "pai_task_table": ("job_name", "task_name"),
    "pai_sensor_table": ("worker_name",),
    "pai_group_tag_table": ("inst_id",),
    "pai_machine_spec": ("machine",),
    "pai_machine_metric": ("worker_name",),
}


def one_of(*values: object) -> Draw:
    return lambda random: random.choice(values)


def number(random: Random) -> float | None:
    """Return a planned or used amount: None, 0, or a multiple of 0.25, also above 100 %."""
    return random.choice((None, 0.0, *(random.randint(1, 1_600) / 4 for _ in range(8))))


def time(random: Random) -> float | None:
    """Return a time in seconds within ten hours: None, 0, a full hour, or a multiple of 0.5."""
    on_the_hour = float(random.randint(1, 10) * HOUR_S)
    return random.choice(
        (None, 0.0, on_the_hour, on_the_hour, *(random.randint(1, 72_000) / 2 for _ in range(6)))
    )


def whole(least: int, most: int) -> Draw:
    return lambda random: random.randint(least, most)


JOBS = [f"j{number}" for number in range(10)]
ROLES = ("ps", "worker")
WORKERS = [f"w{number:02}" for number in range(40)]
MACHINES = ("m1", "m2", "m3", "unspecified")
GPU_TYPES = one_of(None, "MISC", "T4")
USERS = one_of(None, "u1", "u2", "u3", "u4")
TIMED = {
    "status": one_of(None, "Failed", "Interrupted", "Running", "Terminated", "Terminated", "Waiting"),
    "start_time": time,
    "end_time": time,
}
IN_TASK = {"job_name": one_of("orphan", *JOBS), "task_name": one_of(None, *2 * ROLES)}
# Per table: the number of rows to draw, some of which repeat a key and are dropped, and how to draw columns.
TABLES: dict[str, tuple[int, dict[str, Draw]]] = {
    "pai_job_table": (12, {"job_name": one_of("taskless", *JOBS), "user": USERS, **TIMED}),
    "pai_task_table": (
        30,
        {
            **IN_TASK,
            **TIMED,
            "inst_num": one_of(None, 1.0, 1.0, 2.0, 5.0, 40.0, 1_000.0),
            "plan_cpu": number,
            "plan_mem": number,
            "plan_gpu": one_of(None, 0.0, 10.0, 24.5, 25.0, 33.0, 50.0, 99.5, 100.0, 101.0, 200.0, 800.0),
            "gpu_type": GPU_TYPES,
        },
    ),
    "pai_instance_table": (
        70,
        {
            **IN_TASK,
            **TIMED,
            "job_name": one_of(None, *2 * JOBS),
            "worker_name": one_of(None, *WORKERS),
            "machine": one_of(None, *MACHINES),
        },
    ),
    "pai_sensor_table": (
        60,
        {
            **IN_TASK,
            "worker_name": one_of(None, "unlaunched", *WORKERS),
            "machine": one_of(None, *4 * ("m1",), *MACHINES),
            "gpu_name": one_of(None, *3 * ("/dev/nvidia0", "/dev/nvidia1")),
            "cpu_usage": number,
            "gpu_wrk_util": number,
            "avg_mem": number,
            "max_mem": number,
            "avg_gpu_wrk_mem": number,
            "max_gpu_wrk_mem": number,
        },
    ),
    "pai_group_tag_table": (
        8,
        {
            "inst_id": one_of(None, "jobless", *(f"i{job}" for job in JOBS)),
            "user": USERS,
            "gpu_type_spec": GPU_TYPES,
            "group": one_of(None, "g1", "g2"),
            "workload": one_of(None, "bert"),
        },
    ),
    "pai_machine_spec": (
        8,
        {
            "machine": one_of("idle", *MACHINES[:3]),
            "gpu_type": one_of("CPU", "MISC", "T4"),
            "cap_cpu": one_of(0, 64, 96),
            "cap_mem": one_of(0, 384, 512),
            "cap_gpu": one_of(0, 2, 8),
        },
    ),
    "pai_machine_metric": (
        30,
        {
            "worker_name": one_of(None, "unlaunched", *WORKERS),
            "machine": one_of(*MACHINES),
            "start_time": whole(1, 9_000),
            "end_time": whole(1, 9_000),
            "machine_cpu": number,
            "machine_gpu": number,
            "machine_load_1": number,
            "machine_net_receive": number,
            "machine_num_worker": number,
        },
    ),
}


def pai_tables(seed: int) -> Tables:
    """Draw tables whose keys are unique, as the publisher documents."""
    random = Random(seed)
    tables = {}
    for stem, (most, columns) in TABLES.items():
        names = raw_dumps.PAI_HEADERS[stem].split(",")
        rows = [
            {name: columns[name](random) if name in columns else None for name in names} for _ in range(most)
        ]
        key = KEYS.get(stem)
        unique = {tuple(row[name] for name in key): row for row in rows}.values() if key else rows
        tables[stem] = list(unique)
    for job in tables["pai_job_table"]:
        job["inst_id"] = f"i{job['job_name']}"
    launches = tables["pai_instance_table"]
    for launch in launches:
        if launch["start_time"] and random.random() < 0.6:
            launch["end_time"] = launch["start_time"] + random.choice((1.0, 1_800.5, 3_600.0, 20_000.0))
    # Names in random order, so that the order of rows does not decide between two equal launches.
    for launch, place in zip(launches, random.sample(range(len(launches)), len(launches)), strict=True):
        launch["inst_name"] = f"n{place:02}"
    tables["pai_instance_table"] = launches + random.sample(launches, 4)
    return tables


def pai_tables_with_repeated_keys(seed: int) -> Tables:
    random = Random(seed)
    tables = pai_tables(seed)
    return {stem: rows + random.choices(rows, k=3) for stem, rows in tables.items()}


def write(raw: Path, tables: Tables) -> Tables:
    raw_dumps.write_pai(raw / "pai" / "data", tables)
    return tables


def count(tables: Tables) -> dict[str, int]:
    return {raw_dumps.PAI_TABLES[stem]: len(rows) for stem, rows in tables.items()}


def count_rows(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    return connection.execute(f"select count(*) from {sql}").fetchall()[0][0]


def assert_no_join_adds_a_row_to_a_worker(tables: Tables, connection: duckdb.DuckDBPyConnection) -> None:
    workers = {row["worker_name"] for row in tables["pai_instance_table"]} - {None}
    sensed = {row["worker_name"] for row in tables["pai_sensor_table"]}
    for view in ("pai.worker_v1", "pai.worker_by_outcome_v1"):
        names = connection.execute(f"select worker_name from {view}").fetchall()
        assert Counter(name for (name,) in names) == dict.fromkeys(workers, 1)
        for table_name, key in (
            ("pai.sensor", "worker_name"),
            ("pai.machine_metric", "worker_name"),
            ("pai.machine_spec", "machine"),
        ):
            assert count_rows(connection, f"{view} left join {table_name} using ({key})") == len(workers)
    names = connection.execute("select worker_name from pai.worker_usage_v1").fetchall()
    assert Counter(name for (name,) in names) == dict.fromkeys(workers & sensed, 1)
    assert count_rows(connection, "pai.task_run_v1") == len(tables["pai_task_table"])


PLANNED = {
    "running_instances": lambda _: 1,
    "requested_cpus": lambda task: (task["plan_cpu"] or 0) / 100,
    "requested_memory_gb": lambda task: task["plan_mem"] or 0,
    "requested_gpus": lambda task: (task["plan_gpu"] or 0) / 100,
    "sharing_gpus": lambda task: (task["plan_gpu"] or 0) / 100 if (task["plan_gpu"] or 0) < 100 else 0,
    "whole_gpus": lambda task: (task["plan_gpu"] or 0) / 100 if (task["plan_gpu"] or 0) >= 100 else 0,
    "requested_gpus_if_whole": lambda task: -(-(task["plan_gpu"] or 0) // 100),
}


def assert_demand_integrates_to_plan_times_run(tables: Tables, connection: duckdb.DuckDBPyConnection) -> None:
    tasks = {(task["job_name"], task["task_name"]): task for task in tables["pai_task_table"]}
    launches = [
        (tasks[launch["job_name"], launch["task_name"]], launch["start_time"], launch["end_time"] or 0)
        for launch in tables["pai_instance_table"]
        if launch["task_name"] and launch["start_time"] and (launch["job_name"], launch["task_name"]) in tasks
    ]
    counted = [(task, end - start) for task, start, end in launches if end > start]
    hours = raw_dumps.columns_of(connection, "pai.demand_hourly_v1 order by hour")
    for name, planned in PLANNED.items():
        wanted = sum(planned(task) * run for task, run in counted)
        assert sum(hour[name] for hour in hours) * HOUR_S == pytest.approx(wanted, rel=1e-9, abs=1e-6)
    assert sum(hour["unended_instances"] for hour in hours) == len(launches) - len(counted)
    assert [hour["hour"] for hour in hours] == list(range(hours[0]["hour"], hours[-1]["hour"] + 1))
    for hour in hours:
        assert hour["sharing_gpus"] + hour["whole_gpus"] == pytest.approx(hour["requested_gpus"], abs=1e-9)
        assert hour["requested_gpus_if_whole"] >= hour["requested_gpus"] - 1e-9


def assert_sharing_is_every_pair_on_a_device(tables: Tables, connection: duckdb.DuckDBPyConnection) -> None:
    sensors = {row["worker_name"]: (row["machine"], row["gpu_name"]) for row in tables["pai_sensor_table"]}
    workers = raw_dumps.columns_of(connection, "pai.worker_v1")
    pairs = raw_dumps.columns_of(connection, "pai.gpu_sharing_v1")
    on_device = {
        worker["worker_name"]: (sensors[worker["worker_name"]], worker["start_s"], worker["end_s"])
        for worker in workers
        if all(sensors.get(worker["worker_name"], (None,))) and worker["start_s"] and worker["end_s"]
    }
    wanted = Counter()
    for (name, (device, start, end)), (other_name, (other_device, other_start, other_end)) in permutations(
        on_device.items(), 2
    ):
        overlap = min(end, other_end) - max(start, other_start)
        if device == other_device and start < end and other_start < other_end and overlap > 0:
            wanted[(name, other_name, *device, overlap)] += 1
    found = Counter()
    for pair in pairs:
        names = pair["worker_name"], pair["other_worker_name"]
        assert names[0] < names[1]
        for one, other in (names, names[::-1]):
            found[one, other, pair["machine"], pair["gpu_name"], pair["overlap_s"]] += 1
    assert found == wanted


def assert_join_counts_add_up(_: Tables, connection: duckdb.DuckDBPyConnection) -> None:
    for join in raw_dumps.columns_of(connection, "pai.join_coverage_v1"):
        for side in ("left", "right"):
            parts = (join[f"{side}_{part}"] for part in ("without_key", "matched", "unmatched"))
            assert join[f"{side}_rows"] == sum(parts)
            assert join[f"{side}_multiply_matched"] <= join[f"{side}_matched"] <= join["joined_rows"]
            assert join[f"{side}_rows"] == count_rows(connection, join[f"{side}_table"])
        key = join["join_key"]
        joined = count_rows(connection, f"{join['left_table']} join {join['right_table']} using ({key})")
        assert join["joined_rows"] == joined


CASES = {
    "documented keys": Case(
        lambda raw, seed: write(raw, pai_tables(seed)),
        count,
        reference.VIEWS,
        reference.QUERIES,
        (
            assert_no_join_adds_a_row_to_a_worker,
            assert_demand_integrates_to_plan_times_run,
            assert_sharing_is_every_pair_on_a_device,
        ),
    ),
    "repeated keys": Case(
        lambda raw, seed: write(raw, pai_tables_with_repeated_keys(seed)),
        count,
        {
            name: reference.VIEWS[name]
            for name in ("pai.join_coverage_v1", "pai.gang_v1", "pai.status_by_level_v1")
        },
        {},
        (assert_join_counts_add_up,),
    ),
}
