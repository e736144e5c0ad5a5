"""Random Acme jobs and telemetry, and invariants of their views.

The files contain cases that are rare in the sample: metrics in several files with different columns, repeated
and unordered times, lines with unattributed columns only, GPU metrics of bare node addresses, two columns of
one node, empty cells, zeros, error codes that persist or follow each other, long gaps, jobs without a start,
an end or a state, unlisted states, other time zones, and durations that follow each rule or none.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from random import Random

import duckdb
import pytest
import raw_dumps
from twins import acme as reference
from twins import acme_fleet

from random_tables import Case

CLUSTERS = ("seren", "kalos")
ZONES = ("UTC", "Asia/Kolkata", "America/New_York")
SHANGHAI = timezone(timedelta(hours=8))
# An hour before the day ends in Shanghai.
START = datetime(2023, 7, 1, 15, tzinfo=UTC)
Draw = Callable[[Random], object]


def second(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def stamp(time: datetime | None, zone: timezone = SHANGHAI) -> str:
    return "" if time is None else time.astimezone(zone).isoformat(sep=" ")


# Jobs.

TYPES = (None, "Debug", "Eval", "MLLM", "Other", "Pretrain", "SFT")
KNOWN_STATES = ("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED")
STATES = (None, "RUNNING", "SUSPENDED", "COMPLETED", "FAILED", *KNOWN_STATES)
SIZES = (0, 0, 1, 1, 1, 1, 2, 4, 7, 8, 9, 63, 64, 511, 512, 1_024, 2_048)
JOB_COLUMNS = ["job_id", "user", "node_num", "gpu_num", "cpu_num"]
KALOS_SIZES, KALOS_TIMES = ["mem_per_pod_GB", "shared_mem_per_pod"], ["fail_time", "stop_time"]
JOB_TIMES = ["type", "state", "submit_time", "start_time", "end_time"]
JOB_SUMS = ["duration", "queue", "gpu_time"]
Job = dict[str, object]


def job_columns(cluster: str) -> list[str]:
    if cluster == "seren":
        return JOB_COLUMNS + JOB_TIMES + JOB_SUMS
    return JOB_COLUMNS + KALOS_SIZES + JOB_TIMES + KALOS_TIMES + JOB_SUMS


def random_job(random: Random, workload_type: str | None, state: str | None, gpus: int) -> Job:
    """Return a job in which any value except submission and user may be missing or wrong."""
    submit = random.choice((random.randint(-90_000, 90_000), 60 * random.randint(-30, 30), 0))
    wait = random.choice((None, 0, 0, 1, 2, 16, 30, random.randint(0, 100_000)))
    start = None if wait is None else submit + wait
    run = random.choice((None, 0, 1, 18, 299, 300, random.randint(0, 1_200_000), 2 ** random.randint(0, 20)))
    end = None if start is None or run is None or state == "RUNNING" else start + run
    in_all = None if end is None else end - submit
    duration = random.choice((run if end is not None else None, in_all, 17, 300, None))
    queue = random.choice((wait, wait, wait, 5, None))
    product = None if duration is None else duration * gpus
    return {
        "user": random.choice(("ucpu", "ua")) if gpus == 0 else f"u{random.choice('aaaabbbcdefgh')}",
        "node_num": 1,
        "gpu_num": gpus,
        "cpu_num": 8,
        "type": "CPU" if gpus == 0 else workload_type,
        "state": state,
        "submit": submit,
        "start": start,
        "end": end,
        "duration": duration,
        "queue": queue,
        "gpu_time": random.choice((product, product, product, 64, None)),
    }


def complete_job(random: Random, workload_type: str | None, state: str) -> Job:
    """Return a job with all values, so that every workload type and every outcome has GPU time."""
    job = random_job(random, workload_type, state, 8)
    submit, wait, run = random.randint(-90_000, 90_000), random.randint(0, 900), random.randint(1, 9_000)
    sums = {"duration": run, "queue": wait, "gpu_time": 8 * run}
    return {**job, "submit": submit, "start": submit + wait, "end": submit + wait + run, **sums}


def random_jobs(random: Random) -> list[Job]:
    jobs = [complete_job(random, *kind) for kind in zip(TYPES, (*KNOWN_STATES, "FAILED"), strict=True)]
    for _ in range(150):
        jobs.append(random_job(random, random.choice(TYPES), random.choice(STATES), random.choice(SIZES)))
    random.shuffle(jobs)
    return [{"job_id": f"{place}", **job} for place, job in enumerate(jobs)]


def write_jobs(folder: Path, cluster: str, jobs: Sequence[Job], random: Random) -> None:
    rows = []
    for job in jobs:
        usual = SHANGHAI if cluster == "seren" else UTC
        zone = random.choice((usual, usual, usual, SHANGHAI, UTC))
        times = {
            f"{name}_time": stamp(None if job[name] is None else second(job[name]), zone)
            for name in ("submit", "start", "end")
        }
        rows.append(dict.fromkeys(job_columns(cluster)) | job | times)
    text = raw_dumps.csv_text(job_columns(cluster), rows, True)
    put(folder / "job_trace" / f"trace_{cluster}.csv", text)


def write_summary(folder: Path, random: Random) -> None:
    measures = [*reference.ON_GPU_JOBS, *reference.ON_CPU_JOBS]
    measures += [f"{verb}_gpu_time" for verb in reference.OUTCOMES]
    columns = ["id", "job_num", "cpu_job_num", "gpu_job_num", *measures]
    rows = []
    for name in ("Seren", "Kalos", "Philly"):
        counts = {column: random.randint(1, 300) for column in columns[1:4]}
        rows.append({"id": name, **counts, **{measure: random.randint(0, 4_000) / 8 for measure in measures}})
    put(folder / "cluster_summary.csv", raw_dumps.csv_text(columns, rows, True))


def put(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


# Telemetry.

NODES = ("10.0.0.1", "10.0.0.2", "10.0.0.10")
GPU_DEVICES = [f"{node}-{gpu}" for node in NODES for gpu in (0, 1, 3)] + list(NODES)
NODE_DEVICES = [*NODES, *(f"{node}-mlx5_0" for node in NODES)]
UNATTRIBUTED = ("10.0.0.1-0.1", "10.0.0.2-1.1", "10.0.0.1.1", "pod-7", "10.0.0.1-12")
STEPS = (14, 15, 15, 15, 15, 15, 16, 30, 45, 60, 61, 299, 300, 301, 1_800)


def percent(random: Random) -> str:
    return random.choice(("0", "0.0", "100", "50.5", *(f"{random.uniform(0, 100):.3f}" for _ in range(6))))


def watts(random: Random) -> str:
    return random.choice(
        ("0", "400", "400.001", f"{random.uniform(50, 600):.3f}", f"{random.randint(50, 600)}")
    )


def one_of(*values: object) -> Draw:
    return lambda random: random.choice(values)


VALUES: dict[str, Draw] = {
    "GPU_UTIL": lambda random: random.choice((0, 0, 1, 97, 99, 100, random.randint(0, 100))),
    "FB_USED": lambda random: random.choice((0, 8_192, 61_440, 61_441, 81_920, random.randint(0, 81_920))),
    "POWER_USAGE": watts,
    "SM_ACTIVE": percent,
    "XID_ERRORS": one_of(0, 0, 0, 31, 43, 94),
    "NODE_CPU_UTILIZATION": lambda random: random.choice((percent(random), "238.9")),
    "NODE_IB_SEND": lambda random: random.choice(
        ("0", "0", f"{random.uniform(0, 5e9):.2f}", "123456", "1000000")
    ),
    "MEM_COPY_UTIL": one_of(0, 3, 50, 100),
    "GPU_TEMP": one_of(0, 20, 35, 65, 66, 90),
    "DRAM_ACTIVE": percent,
    "PIPE_TENSOR_ACTIVE": percent,
    "NODE_MEMORY_UTILIZATION": percent,
    "NODE_IB_RECEIVE": one_of(0, "0.125", 999_999, "1000000.5"),
}
MOSTLY = (
    "GPU_UTIL",
    "FB_USED",
    "POWER_USAGE",
    "SM_ACTIVE",
    "XID_ERRORS",
    "NODE_CPU_UTILIZATION",
    "NODE_IB_SEND",
)
# Probability that a sample repeats the value of the previous one; 0.1 for other metrics.
REPEATS = {"XID_ERRORS": 0.5}
Line = tuple[float, list[object]]


def random_lines(random: Random, metric: str, times: Sequence[float], devices: Sequence[str]) -> list[Line]:
    columns = []
    for _ in devices:
        cells: list[object] = [VALUES[metric](random)]
        for _ in times[1:]:
            as_before = random.random() < REPEATS.get(metric, 0.1)
            cells.append(cells[-1] if as_before else random.choice((None, *(VALUES[metric](random),) * 3)))
        columns.append(cells)
    return list(zip(times, map(list, zip(*columns, strict=True)), strict=True))


def write_metric_file(path: Path, devices: Sequence[str], lines: Sequence[Line]) -> None:
    texts = [",".join(["Time", *devices])]
    for time, values in lines:
        texts.append(
            ",".join([stamp(second(time)), *("" if value is None else str(value) for value in values)])
        )
    put(path, ("\n".join(texts) + "\n").encode())


def write_metric(folder: Path, metric: str, random: Random) -> None:
    """Write one file, or three files with some times in common, and a file of unattributed columns.

    The last file has its own times, in hours in which the other files have lines too, and some of their
    times, but never their first time or a full hour.
    """
    known = NODE_DEVICES if metric.startswith("NODE_") else GPU_DEVICES
    steps = [random.choice((0, 61)), *(random.choice(STEPS) for _ in range(59))]
    times = [float(sum(steps[: count + 1])) for count in range(60)]
    # Full hours, at which the samples of one hour end and those of the next begin.
    full_hours = [hour * 3_600.0 for hour in range(1, int(times[-1]) // 3_600 + 1)]
    times = sorted({*times, *full_hours})
    cuts = [(0, len(times))] if random.random() < 0.3 else [(0, 24), (20, 45), (40, len(times))]
    names = ["", *random.sample([f"-2023-07-{day:02}" for day in range(1, 9)], 3)]
    pieces = zip(cuts, random.sample(names, len(cuts)), strict=True)
    for (begin, end), name in pieces:
        devices = random.sample(known, random.randint(3, len(known)))
        devices += random.sample(UNATTRIBUTED, random.randint(0, 2))
        random.shuffle(devices)
        lines = random_lines(random, metric, times[begin:end], devices)
        lines.insert(
            random.randint(0, len(lines)), random.choice(random_lines(random, metric, times, devices))
        )
        place = random.randint(0, len(lines) - 2)
        lines[place : place + 2] = reversed(lines[place : place + 2])
        write_metric_file(folder / f"{metric}{name}.csv", devices, lines)
    between = [time + 7 for time in times if int(time) // 3_600 == int(time + 7) // 3_600]
    not_theirs = [time for time in times[1:] if time not in full_hours]
    foreign = sorted({*random.sample(between, 10), *random.sample(not_theirs, 5)})
    devices = list(UNATTRIBUTED[:2])
    write_metric_file(
        folder / f"{metric}-2023-07-09.csv", devices, random_lines(random, metric, foreign, devices)
    )


def server_row(random: Random, memory_name: str) -> dict[str, object]:
    draw = random.randint
    return {
        "Time": stamp(second(60 * draw(0, 30))),
        "Sys_Total_Power": random.choice((None, 0, draw(400, 6_000), draw(400, 6_000), draw(400, 6_000))),
        "CPU_Power": random.choice((None, draw(0, 400), draw(0, 400), draw(0, 400))),
        memory_name: random.choice((None, 0, draw(10, 100))),
    }


def write_servers(folder: Path, random: Random) -> None:
    for server_group, memory_name in (
        ("GPU_AB", "MEM_Power"),
        ("GPU_C", "Memory_Power"),
        ("CPU_D", random.choice(("MEM_Power", "Memory_Power"))),
    ):
        rows = [server_row(random, memory_name) for _ in range(random.randint(10, 40))]
        put(folder / f"{server_group}_Power.csv", raw_dumps.csv_text(list(rows[0]), rows, True))


@dataclass(frozen=True)
class Written:
    """The folder of the raw files, their seed, and the jobs written per cluster."""

    raw: Path
    seed: int
    jobs: dict[str, int]


def write(raw: Path, seed: int) -> Written:
    """Write raw files. Return their folder, the seed and the number of jobs per cluster."""
    folder = raw / "acme" / "data"
    random = Random(seed)
    written = {}
    for cluster in CLUSTERS:
        jobs = random_jobs(random)
        write_jobs(folder, cluster, jobs, random)
        written[cluster] = len(jobs)
        # A warehouse may have some or none of a cluster's files.
        share = random.choice((0, 0.8, 1, 1))
        metrics = [metric for metric in MOSTLY if random.random() < share]
        metrics += random.sample([metric for metric in VALUES if metric not in MOSTLY], 2) if share else []
        for metric in metrics:
            write_metric(folder / "utilization" / cluster, metric, random)
    write_servers(folder / "utilization" / "ipmi", random)
    write_summary(folder, random)
    return Written(raw, seed, written)


NODE, DAY, HOUR = "10.0.0.2", date(2023, 7, 2), "2023-07-01 16:30:00+00:00"
CHOSEN = {
    f"acme.gpu_day(on_node := '{NODE}', on_gpu := 1, on_day := date '{DAY}')": (
        reference.gpu_day,
        ("kalos", "GPU_UTIL", NODE, 1, DAY),
        None,
    ),
    f"acme.fleet_hour(on_metric := 'POWER_USAGE', from_time := timestamptz '{HOUR}')": (
        reference.fleet_hour,
        ("kalos", "POWER_USAGE", HOUR),
        None,
    ),
    "acme.xid_bursts(min_gpus := 2)": (reference.xid_bursts, (2,), None),
}


def number(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    return connection.execute(sql).fetchall()[0][0]


def assert_every_job_and_cell_is_kept_once_or_rejected(
    written: Written, connection: duckdb.DuckDBPyConnection
) -> None:
    jobs = connection.execute("select cluster, count(*) from acme.job_trace group by cluster").fetchall()
    assert dict(jobs) == written.jobs
    cells = reference.cells(written.raw)
    for table_name in ("gpu_metric", "node_metric"):
        key = f"select distinct cluster, metric, device, time from acme.{table_name}"
        count = number(connection, f"select count(*) from acme.{table_name}")
        assert count == number(connection, f"select count(*) from ({key})")
        assert count == (cells["source_table"] == table_name).sum()
    wrong = "select count(*) from catalog.sources where rows_read <> rows_kept + rows_rejected"
    assert number(connection, wrong) == 0


def assert_parts_add_up(_: Written, connection: duckdb.DuckDBPyConnection) -> None:
    for whole, parts in (
        ("count(*) from acme.job_v1", "sum(jobs) from acme.duration_audit_v1"),
        (
            "count(*) from acme.job_v1",
            "sum(duration_is_run + duration_is_turnaround + duration_is_both + duration_is_neither"
            " + not_comparable) from acme.duration_audit_v1",
        ),
        ("count(*) from acme.xid_onset_v1", "sum(onsets) from acme.xid_burst_v1"),
        ("count(value) from acme.gpu_metric where node is not null", GPU_SAMPLES),
        ("count(value) from acme.gpu_metric", "sum(samples) from acme.telemetry_coverage_v1" + OF_GPUS),
        (
            "count(*) from acme.gpu_metric",
            "sum(samples + empty_samples) from acme.telemetry_coverage_v1" + OF_GPUS,
        ),
        (
            "count(*) from acme.gpu_metric where metric = 'GPU_UTIL' and node is not null",
            "sum(samples + empty_samples) from acme.utilization_hourly_v1 where metric = 'GPU_UTIL'",
        ),
        ("count(*) from acme.server_power", "sum(samples) from acme.server_power_share_v1"),
    ):
        assert number(connection, f"select {whole}") == (number(connection, f"select {parts}") or 0)
    for call in ("type_shares()", "states(by_outcome := true)", "type_state_shares()"):
        for name in ("jobs_pct", "gpu_h_pct"):
            assert number(connection, f"select sum({name}) from acme.{call}") == pytest.approx(100)


OF_GPUS = " where source_table = 'gpu_metric'"
GPU_SAMPLES = "sum(samples) from acme.metric_histogram_v1 where metric not like 'NODE%'"


def assert_percentiles_occur_in_the_data(_: Written, connection: duckdb.DuckDBPyConnection) -> None:
    occurs = "select count(*) from acme.metric_cdf_v1 anti join acme.metric_histogram_v1 using"
    assert number(connection, f"{occurs} (cluster, metric, value)") == 0
    curves = connection.execute(
        "select cluster, metric, list(value order by percentile) from acme.metric_cdf_v1 group by all"
    ).fetchall()
    series = "select count(*) from (select distinct cluster, metric from acme.metric_histogram_v1)"
    assert len(curves) == number(connection, series)
    for cluster, metric, values in curves:
        assert values == sorted(values)
        assert len(values) == 201
        least, most = connection.execute(
            "select min(value), max(value) from acme.metric_histogram_v1 where cluster = $1 and metric = $2",
            [cluster, metric],
        ).fetchall()[0]
        assert (values[0], values[-1]) == (least, most)


def assert_energy_is_within_power_times_covered_time(
    _: Written, connection: duckdb.DuckDBPyConnection
) -> None:
    """The energy is at most that of all GPUs at 600 W, the largest sample, over the covered time."""
    for hour in raw_dumps.columns_of(connection, "acme.power_hourly_v1 where samples > 0"):
        assert 0 <= hour["energy_kwh"] <= 600 * hour["gpus"] * hour["covered_s"] / 3.6e6 + 1e-9
        assert 0 <= hour["covered_s"] < 3_600 + 300


def set_a_random_time_zone(written: Written, connection: duckdb.DuckDBPyConnection) -> None:
    """Results must not depend on the client's time zone, even if its offset includes half an hour."""
    connection.execute(f"set timezone = '{Random(written.seed).choice(ZONES)}'")


CASES = {
    "random jobs and telemetry": Case(
        write,
        lambda _: {},
        reference.VIEWS,
        reference.QUERIES | acme_fleet.QUERIES | CHOSEN,
        (
            assert_every_job_and_cell_is_kept_once_or_rejected,
            assert_parts_add_up,
            assert_percentiles_occur_in_the_data,
            assert_energy_is_within_power_times_covered_time,
        ),
        prepare=set_a_random_time_zone,
    )
}
