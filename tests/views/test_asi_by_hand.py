"""Lifetimes, places and use of a few ASI pods, computed by hand."""

import re
from collections import Counter
from pathlib import Path

import duckdb
import polars as pl
import pytest
import raw_dumps
from conftest import REPOSITORY
from non_empty import non_empty

from tracehouse.engines.duckdb.read import answer, binding, sandbox, verify
from tracehouse.ingest.declare.trace import Table
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
        "gpu_spec_public": "A10-24GB" if pod == "short" else "A10",
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


def write_hour(raw: Path, day: int, pods: list[dict[str, object]], servers: list[dict[str, object]]) -> None:
    """Write pods and servers in hour 2 of a day."""
    for table, rows in ((asi.POD_HOURLY, pods), (asi.SERVER_HOURLY, servers)):
        below = raw / f"asi/asi_opensource_{table.name}/day={day}/hour=02"
        below.mkdir(parents=True)
        write(below, table, rows)


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    folder = tmp_path_factory.mktemp("one_server")
    held = {"long": 1.0, "short": 0.5, "without priority": 0.25}
    write_hour(folder / "raw", 109, [row(2, pod, 1.0, gpu_h) for pod, gpu_h in held.items()], [SERVER])
    return raw_dumps.ingested(folder / "raw", folder / "warehouse")


def test_rounds_the_share_of_a_server_to_the_even_digit(one_server: duckdb.DuckDBPyConnection) -> None:
    """1.5 of 192 GPUs is a share of 0.0078125, which rounds to 0.007812 (half to even, as in Python)."""
    found = one_server.execute("select hp_allocated_pct from asi.allocation_by_model()").fetchall()
    assert found == [(pytest.approx(0.7812, abs=1e-12),)]


def test_capacity_is_repeated_for_each_priority(one_server: duckdb.DuckDBPyConnection) -> None:
    places = "select priority, capacity_gpu_h, held_gpu_h, measured_gpu_h from asi.allocation_hour order by 1"
    assert one_server.execute(places).fetchall() == [
        ("HP", 192, 1.5, 0),
        ("LP", 192, 0, 0),
        ("Other", 192, 0.25, 0),
    ]


@pytest.fixture(scope="module")
def two_days(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """The same pods on days 50 and 109, where only day 109 has states. Both servers are shown as H20."""
    folder = tmp_path_factory.mktemp("two_days")
    server = {"cluster_id": "c", "asw_id": "a", "gpu_count": 8.0, "cpu_capacity_cores": 96.0}
    servers = [
        server | {"server_id": "s", "gpu_spec_public": "H20"},
        server | {"server_id": "t", "gpu_spec_public": "H20-141GB"},
    ]
    for day in (50, 109):
        pods = [
            row(2, pod, gpus, gpus)
            | {"priority_class": priority, "state_public": state if day == 109 else "Unknown"}
            | {"gpu_spec_public": "H20", "ready_status": True, "avg_gpu_sm_util": 50.0 * gpus}
            for pod, gpus, priority, state in (
                ("running", 4.0, "HP", "Running"),
                ("standby", 2.0, "HP", "Standby"),
                ("low", 1.0, "LP", "Running"),
            )
        ]
        write_hour(folder / "raw", day, pods, servers)
    return raw_dumps.ingested(folder / "raw", folder / "warehouse")


# Columns that need the states of pods, and their values on day 109.
NEED_STATES = {
    "asi.standby_by_hour": ("standby_gpu_h, idle_standby_gpu_h, used_by_lp_ratio", [(2, 1, 0.5)]),
    "asi.idle_standby": (
        "standby_gpu_h, idle_standby_gpu_h, idle_pct, idle_of_all_pct",
        [(2, 1, 50, 6.25)],
    ),
    "asi.left_by_hp": (
        "gpu_h, gpu_h_pct, left_pct",
        [(4, 25, None), (1, 6.25, 100 / 12), (1, 6.25, 100 / 12), (10, 62.5, 1000 / 12)],
    ),
    # Two servers: the first has 5 and 6 of 8 GPUs allocated, the second none.
    "asi.allocation_by_model": ("hp_allocated_pct, allocated_pct", [(31.25, 37.5)]),
    "asi.use_over_time": (
        "held_gpu_h, standby_gpu_h, allocated_pct, measured_pct, used_pct",
        [(5, 2, 31.25, 100, 15.625)],
    ),
    "asi.utilization_by_hour": ("mean_gpu_pct, measured_pods, requested_gpus", [(50, 1, 4)]),
    # HP pods, and standby beyond LP, hold 5 of 16 GPUs.
    "asi.fragmentation_by_hour": ("free_gpus, fragmented_gpus, fragmented_pct", [(11, 1.5, 9.375)]),
    "asi.idle_fragmentation": ("unusable_gpus, idle_gpus_pct", None),
}


@pytest.mark.parametrize("query", NEED_STATES)
def test_values_that_need_states_are_known_on_days_109_to_115(
    query: str, two_days: duckdb.DuckDBPyConnection
) -> None:
    columns, expected = NEED_STATES[query]

    def answer(days: str, where: str = "true") -> list[tuple]:
        return two_days.execute(f"select {columns} from {query}({days}) where {where}").fetchall()

    known, unknown = answer(""), answer("50, 50")
    assert known and len(unknown) == len(known)
    assert all(value is None for values in unknown for value in values)
    assert expected is None or known == [tuple(map(pytest.approx, values)) for values in expected]
    assert all(value is not None for values in known for value in values) or query == "asi.left_by_hp"
    by_hour = "hour" in [name for name, *_ in two_days.execute(f"describe from {query}()").fetchall()]
    assert answer("50, 115", "day > 50" if by_hour else "true") == known
    caveats = (
        "select list_contains(caveats, 'asi.states_of_one_week') from catalog.queries where query_name = ?"
    )
    assert two_days.execute(caveats, [query]).fetchall() == [(True,)]


def test_gpu_model_is_the_model_shown(two_days: duckdb.DuckDBPyConnection) -> None:
    """A model counts with its variants in every query, except in the column called exact_model."""
    calls = (
        *("allocation_by_model", "fleet_by_day", "fragmentation_by_hour", "gpus_by_model"),
        *("idle_standby", "left_by_hp", "pods_by_model", "use_over_time"),
    )
    for call in calls:
        column = "class" if call in ("idle_standby", "left_by_hp", "use_over_time") else "gpu_model"
        found = two_days.execute(f"select distinct {column} from asi.{call}()").fetchall()
        assert found == [("H20",)], call
    hours = "select gpu_model, capacity_gpus from asi.fragmentation_by_hour()"
    assert two_days.execute(hours).fetchall() == [("H20", 16)]


def test_lifetimes_count_variants_with_their_model(lives: duckdb.DuckDBPyConnection) -> None:
    classes = "select distinct class, pods from asi.lifetimes(per := 'gpu_model')"
    assert lives.execute(classes).fetchall() == [("A10", 5)]


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


ROW = re.compile(r"\| (\d+) \| \w+ \| (.+) \|")
CALL = re.compile(r"`(asi\.\w+)(?:\((\w+) := '?(\w+)'?\))?`")
# The calls that docs/asi.md lists, by the number of the figure: query, parameter and value.
FIGURES = {
    number: CALL.findall(text)
    for number, text in ROW.findall((REPOSITORY / "docs" / "asi.md").read_text(encoding="utf-8"))
}


def test_every_published_figure_has_rows(sample_warehouse: Path) -> None:
    assert list(FIGURES) == [str(number) for number in range(1, 18)]
    with sandbox.connect(sample_warehouse) as connection:
        for calls in FIGURES.values():
            for query, parameter, value in non_empty(calls):
                texts = {parameter: value} if parameter else {}
                bound = binding.bind_query(connection, query, texts)
                assert answer.read(connection, bound).read_all().num_rows, query
