"""Lifetimes, places and use of a few ASI pods, computed by hand."""

from collections import Counter
from pathlib import Path

import duckdb
import polars as pl
import pytest
import raw_dumps

from tracehouse.engines.duckdb.read import sandbox, verify
from tracehouse.ingest.declarations import Table
from tracehouse.ingest.traces import asi

# Requested GPUs of each pod, and its held GPU-hours by hour. Hour 3 is not loaded.
PODS = {
    "throughout": (1.0, {0: 1.0, 1: 1.0, 2: 1.0, 4: 1.0, 24: 1.0}),
    "early": (2.0, {0: 2.0, 1: 1.0}),
    "short": (0.5, {1: 0.125}),
    "until the gap": (1.0, {2: 0.5}),
    "with a gap": (4.0, {1: 2.0, 4: 1.0}),
    "late": (1.0, {24: 0.25}),
    "never ran": (1.0, {1: 0.0}),
    "without GPU": (0.0, {1: 0.0, 2: 0.0}),
    "without priority": (0.25, {2: 0.25}),
}
HOURS = [0, 1, 2, 4, 24]
# All pods run on this server, which is listed in hour 2 only.
SERVER = {"server_id": "s", "cluster_id": "c", "gpu_spec_public": "A10", "gpu_count": 192.0}
LIVES = """
    select pod_id, first_hour, last_hour, hours, gap_hours, is_left_censored, is_right_censored
    from asi.pod_life order by pod_id
"""
RUNS = """
    select
        job_id, wait_s, observed_start_s / 3600, observed_run_s / 3600, run_s / 3600, end_s / 3600,
        held_gpu_s / 3600
    from unified.jobs order by job_id
"""


def row(hour: int, pod: str, gpus: float, held_gpu_h: float) -> dict[str, object]:
    known = {
        "pod_id": pod,
        "server_id": "s",
        "cluster_id": "c",
        "gpu_spec_public": "A10",
        "priority_class": None if pod == "without priority" else "HP",
        "job_type_public": "training",
        "model_type_public": "rec",
        "gpu_request": gpus,
        "used_gpu_hours": held_gpu_h,
        "schedule_delay_sec": 60,
        "hour": hour,
    }
    return {column.name: known.get(column.name) for column in asi.POD_HOURLY.columns} | {"hour": hour}


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("lives")
    rows = [row(hour, pod, gpus, held) for pod, (gpus, hours) in PODS.items() for hour, held in hours.items()]
    # A pod that moved has two rows in an hour.
    rows.append(row(1, "short", 0.5, 0.125))
    for hour in HOURS:
        below = folder / f"raw/asi/asi_opensource_pod_hourly/day={hour // 24}/hour={hour % 24:02d}"
        below.mkdir(parents=True)
        write(below, asi.POD_HOURLY, [one for one in rows if one["hour"] == hour])
    below = folder / "raw/asi/asi_opensource_server_hourly/day=0/hour=02"
    below.mkdir(parents=True)
    write(below, asi.SERVER_HOURLY, [SERVER])
    return raw_dumps.ingested(folder / "raw", folder / "warehouse")


def write(folder: Path, table: Table, rows: list[dict[str, object]]) -> None:
    types = {column.name: TYPES[column.type] for column in table.columns}
    found = [{name: one.get(name) for name in types} for one in rows]
    pl.DataFrame(found, schema=types).write_parquet(folder / "part-000.parquet")


TYPES = {"VARCHAR": pl.String, "DOUBLE": pl.Float64, "BIGINT": pl.Int64, "BOOLEAN": pl.Boolean}


def test_hours_that_are_not_loaded_censor_lifetimes(lives: duckdb.DuckDBPyConnection) -> None:
    assert lives.execute(LIVES).fetchall() == [
        ("early", 0, 1, 2, 0, True, False),
        ("late", 24, 24, 1, 0, True, True),
        ("never ran", 1, 1, 1, 0, False, False),
        ("short", 1, 1, 1, 0, False, False),
        ("throughout", 0, 24, 5, 0, True, True),
        ("until the gap", 2, 2, 1, 0, False, True),
        ("with a gap", 1, 4, 2, 1, False, True),
        ("without GPU", 1, 2, 2, 0, False, True),
        ("without priority", 2, 2, 1, 0, False, True),
    ]


def test_pods_run_while_they_hold_gpus(lives: duckdb.DuckDBPyConnection) -> None:
    assert lives.execute(RUNS).fetchall() == [
        ("early", None, 0, 1.5, None, 1.5, 3),
        ("late", None, 24, 0.25, None, None, 0.25),
        ("never ran", 60, None, None, None, None, 0),
        ("short", 60, 1.25, 0.5, 0.5, 1.75, 0.25),
        ("throughout", None, 0, 5, None, None, 5),
        ("until the gap", 60, 2.5, 0.5, None, None, 0.5),
        ("with a gap", 60, 4.25, 0.75, None, None, 3),
        ("without priority", 60, 2, 1, None, None, 0.25),
    ]


def test_queue_and_offered_load_are_empty_without_submissions(lives: duckdb.DuckDBPyConnection) -> None:
    hours = "select count(*), count(queued_jobs) from unified.allocation_hourly('asi', offered := {})"
    assert lives.execute(hours.format("false")).fetchall() == [(25, 0)]
    assert lives.execute(hours.format("true")).fetchall() == [(0, 0)]
    assert lives.execute("from unified.arrivals()").fetchall() == []


def test_rounds_the_share_of_a_server_to_the_even_digit(lives: duckdb.DuckDBPyConnection) -> None:
    """1.5 of 192 GPUs is a share of 0.0078125, which rounds to 0.007812 (half to even, as in Python)."""
    found = lives.execute("select hp_allocated_pct from asi.allocation_by_model(from_day := 0)").fetchall()
    assert found == [(pytest.approx(0.7812, abs=1e-12),)]


def test_capacity_is_repeated_for_each_priority(lives: duckdb.DuckDBPyConnection) -> None:
    places = "select priority, capacity_gpu_h, held_gpu_h, measured_gpu_h from asi.allocation_hour order by 1"
    assert lives.execute(places).fetchall() == [
        ("HP", 192, 1.5, 0),
        ("LP", 192, 0, 0),
        ("Other", 192, 0.25, 0),
    ]


ROUNDED_UP = {
    0.1: 0.1,
    0.7: 0.7,
    0.1 + 0.2: 0.301,
    0.1234: 0.124,
    0.12300000000000001: 0.124,
    1e-9: 1e-9,
    99.91: 100,
    99.9: 99.9,
    100.4: 101,
    12345.2: 12346,
    1e300: 1e300,
    0.0: 0,
    -0.998: -0.998,
    -12.34: -12.3,
}


def test_use_is_rounded_up_to_three_digits(tmp_path: Path) -> None:
    below = tmp_path / "raw/asi/asi_opensource_pod_hourly/day=0/hour=00"
    below.mkdir(parents=True)
    rows = [
        row(0, f"p{number}", 1.0, 1.0) | {"ready_status": True, "avg_gpu_mem_gib": used}
        for number, used in enumerate(ROUNDED_UP)
    ]
    # These do not count: not ready, without a measurement, without a GPU.
    rows += [
        row(0, "starting", 1.0, 1.0) | {"ready_status": False, "avg_gpu_mem_gib": 5.0},
        row(0, "unknown", 1.0, 1.0) | {"ready_status": True},
        row(0, "without GPU", 0.0, 0.0) | {"ready_status": True, "avg_gpu_mem_gib": 5.0},
    ]
    write(below, asi.POD_HOURLY, rows)
    warehouse = raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse")
    found = warehouse.execute("select value, pod_hours from asi.utilization_day order by value").fetchall()
    counts = Counter(ROUNDED_UP.values())
    assert found == sorted(counts.items())


def test_published_numbers_of_servers_are_a_peak_and_a_count_of_names(tmp_path: Path) -> None:
    """Three servers in two hours, two at a time."""
    for hour, servers in enumerate((["a", "b"], ["b", "c"])):
        below = tmp_path / f"raw/asi/asi_opensource_server_hourly/day=109/hour={hour:02d}"
        below.mkdir(parents=True)
        write(below, asi.SERVER_HOURLY, [{**SERVER, "server_id": name} for name in servers])
        below = tmp_path / f"raw/asi/asi_opensource_pod_hourly/day=109/hour={hour:02d}"
        below.mkdir(parents=True)
        write(below, asi.POD_HOURLY, [row(hour, "pod", 1.0, 1.0)])
    raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse").close()
    with sandbox.connect(tmp_path / "warehouse") as connection:
        found = {one.figure: one.measured for one in verify.figures(connection, ["asi"])}
    assert (found["asi.servers"], found["asi.server_ids"], found["asi.peak_gpus"]) == (2, 3, 384)
