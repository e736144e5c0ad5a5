"""Acme's telemetry on a few rows whose results can be computed by hand."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pytest
import raw_dumps

CHINA = timezone(timedelta(hours=8))
# 10:00 in Shanghai.
START = datetime(2023, 8, 29, 10, 0, 0, tzinfo=CHINA)

Row = Sequence[object]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def address(name: str) -> tuple[str | None, int | None]:
    """Return node and GPU of a device: `a-0` is GPU 0 of node a, `a` is node a, `pod.1` is no address."""
    node, _, gpu = name.partition("-")
    return (None, None) if "." in name else (node, int(gpu) if gpu else None)


def gpu_rows(metric: str, cells: Iterable[Row], cluster: str = "kalos") -> list[tuple]:
    """Return rows of gpu_metric from cells of (device, seconds, value)."""
    return [(cluster, metric, *address(name), name, at(s), value) for name, s, value in cells]


def node_rows(metric: str, cells: Iterable[Row], cluster: str = "kalos") -> list[tuple]:
    """Return rows of node_metric from cells of (device, seconds, value)."""
    return [(cluster, metric, address(name)[0], name, at(s), value) for name, s, value in cells]


def sample_each_15_s(name: str, *values: float | None, first: int = 0) -> list[Row]:
    return [(name, 15 * (first + step), value) for step, value in enumerate(values)]


def create_database(folder: Path, **tables: list[tuple]) -> duckdb.DuckDBPyConnection:
    """Build a database with these rows in its base tables."""
    path = raw_dumps.without_data(folder, embed_tables=True)
    connection = duckdb.connect(str(path))
    connection.execute("set timezone = 'UTC'")
    for name, rows in tables.items():
        assert rows
        connection.executemany(
            f"insert into acme.{name} values ({', '.join('?' for _ in rows[0])})", [list(row) for row in rows]
        )
    return connection


def answer(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple]:
    return connection.execute(sql).fetchall()


def seconds(moment: datetime) -> float:
    return (moment - START).total_seconds()


# All devices are sampled at 0, 15, 30, 45 and 60 s, and also at 37 s, when only an unknown device is listed.
CODES = [
    *sample_each_15_s("plain-0", 0, 43, 43),
    # plain-0 is not listed at 37 s, so its code at 45 s is a new error.
    *sample_each_15_s("plain-0", 43, 43, first=3),
    *sample_each_15_s("cleared-0", 0, 43, 0, 0, 31),
    # A code in the first sample of a device is not an onset. An empty cell ends the error.
    *sample_each_15_s("censored-0", 43, 43, None, 31, 31),
    # The first sample is empty, so the code in the second sample is an onset.
    *sample_each_15_s("empty-0", None, 43, 0, 0, 0),
    # The code changes from 43 to 31 without a 0 in between, so 31 is not an onset.
    *sample_each_15_s("changes-0", 0, 43, 31, 0, 0),
    # Listed from 30 s on: the code in the first sample is not an onset.
    *sample_each_15_s("late-0", 45, 0, 45, first=2),
    # Not listed at 30 s, so the code at 45 s is a new error.
    *sample_each_15_s("gone-0", 0, 43),
    *sample_each_15_s("gone-0", 43, 0, first=3),
    *sample_each_15_s("bare", 0, 0, 0, 0, 94),
    ("pod.1", 37, 43),
]


def test_onsets(tmp_path: Path) -> None:
    rows = gpu_rows("XID_ERRORS", CODES)
    # Seren and the other metrics are sampled at other times.
    rows += gpu_rows("XID_ERRORS", [("plain-0", 0, 0), ("plain-0", 30, 43), ("plain-0", 50, 43)], "seren")
    rows += gpu_rows("GPU_UTIL", [("plain-0", 20, 5), ("plain-0", 40, 5)])
    rows += gpu_rows("GPU_UTIL", [("plain-0", 40, 5)], "seren")
    with create_database(tmp_path, gpu_metric=rows) as connection:
        found = answer(connection, "from acme.xid_onset_v1")
        counts = answer(connection, "from acme.xid_counts()")
        of_seren = answer(connection, "from acme.xid_counts('seren')")
    assert sorted((cluster, node, gpu, seconds(time), xid) for cluster, node, gpu, time, xid in found) == [
        ("kalos", "bare", None, 60, 94),
        ("kalos", "censored", 0, 45, 31),
        ("kalos", "changes", 0, 15, 43),
        ("kalos", "cleared", 0, 15, 43),
        ("kalos", "cleared", 0, 60, 31),
        ("kalos", "empty", 0, 15, 43),
        ("kalos", "gone", 0, 15, 43),
        ("kalos", "gone", 0, 45, 43),
        ("kalos", "late", 0, 60, 45),
        ("kalos", "plain", 0, 15, 43),
        ("kalos", "plain", 0, 45, 43),
        ("seren", "plain", 0, 30, 43),
    ]
    assert counts == [(43, 7, 5), (31, 2, 2), (45, 1, 1), (94, 1, 1)]
    assert of_seren == [(43, 1, 1)]


def errors(*onsets: tuple[str, int, int]) -> list[Row]:
    """Return one sample per device and second: the code of an onset at (device, second), else 0."""
    devices = {name for name, _, _ in onsets}
    codes = {(name, s): xid for name, s, xid in onsets}
    last = max(s for _, s, _ in onsets)
    return [(name, s, codes.get((name, s), 0)) for name in sorted(devices) for s in range(last + 1)]


def test_bursts(tmp_path: Path) -> None:
    kalos = errors(
        # One burst, because the onsets are 60 s apart. Codes 43 and 31 are equally frequent; a-0 fails twice.
        *[("a-0", 10, 43), ("a-1", 10, 31), ("b-0", 70, 31), ("a-0", 130, 43)],
        # A second burst 61 s later: onsets in the same second on two GPUs and on a bare node.
        *[("a-0", 191, 45), ("b-0", 191, 43), ("b", 191, 45)],
        ("b-0", 300, 94),
    )
    # Seren's burst lies between two bursts of Kalos.
    seren = errors(("a-0", 160, 63))
    rows = gpu_rows("XID_ERRORS", kalos) + gpu_rows("XID_ERRORS", seren, "seren")
    with create_database(tmp_path, gpu_metric=rows) as connection:
        found = answer(connection, "from acme.xid_bursts(1)")
        of_three = answer(connection, "select onsets, gpus from acme.xid_bursts(3)")
        by_default = answer(connection, "from acme.xid_bursts()")
    assert [(row[0], seconds(row[1]), seconds(row[2]), *row[3:]) for row in found] == [
        ("kalos", 10, 130, 4, 3, 2, 31, 2),
        ("kalos", 191, 191, 3, 3, 2, 45, 2),
        ("kalos", 300, 300, 1, 1, 1, 94, 1),
        ("seren", 160, 160, 1, 1, 1, 63, 1),
    ]
    assert of_three == [(4, 3), (3, 3)]
    assert by_default == []


def test_power(tmp_path: Path) -> None:
    cells = [
        # These values hold for 15 s.
        *[("a-0", 0, 100.0), ("a-1", 0, None), ("pod.1", 0, 5000.0)],
        # The next sample is at 3590 s, but a value holds for at most 300 s.
        *[("a-0", 15, 200.0), ("a-1", 15, 400.0)],
        # Holds for 20 s, until the unknown device is sampled in the next hour.
        ("a-0", 3590, 300.0),
        ("pod.1", 3610, 5000.0),
        # No later sample follows, so these values hold for 0 s. The node counts as a device, but is no GPU.
        *[("a-0", 3700, 500.0), ("a", 3700, 100.0)],
    ]
    rows = gpu_rows("POWER_USAGE", cells) + gpu_rows("POWER_USAGE", [("a-0", 0, 0.0)], "seren")
    rows += gpu_rows("POWER_USAGE", [("a-0", 7200, None)], "seren")
    with create_database(tmp_path, gpu_metric=rows) as connection:
        hours = answer(connection, "from acme.power_hourly_v1 order by cluster, hour")
        days = answer(connection, "from acme.power_by_day()")
        tdp = answer(connection, "from acme.tdp()")
    joules = 100 * 15 + 600 * 300 + 300 * 20
    assert [(row[0], seconds(row[1]), *row[2:]) for row in hours] == [
        ("kalos", 0, 2, 4, 250, 15 + 300 + 20, pytest.approx(joules / 3.6e6, rel=1e-12)),
        # The unknown device's sample covers the 90 s to the next one. Other devices have no value in them.
        ("kalos", 3600, 2, 2, 300, 90, 0),
        ("seren", 0, 1, 1, 0, 300, 0),
        ("seren", 7200, 0, 0, None, 0, None),
    ]
    assert days == [
        ("kalos", date(2023, 8, 29), pytest.approx(joules / 3.6e6, rel=1e-12), pytest.approx(1600 / 6)),
        ("seren", date(2023, 8, 29), 0, 0),
    ]
    # A value of exactly 400 W is not above the TDP.
    assert tdp == [("kalos", 6, 1, pytest.approx(100 / 6), 500), ("seren", 1, 0, 0, 0)]


def test_hours_with_unknown_devices_only_are_omitted(tmp_path: Path) -> None:
    rows = gpu_rows("POWER_USAGE", [("a-0", 3599, 100.0), ("pod.1", 3600, 100.0)])
    with create_database(tmp_path, gpu_metric=rows) as connection:
        hours = answer(connection, "from acme.power_hourly_v1")
    assert [(seconds(row[1]), *row[2:]) for row in hours] == [
        (0, 1, 1, 100, 1, pytest.approx(100 / 3.6e6, rel=1e-12))
    ]


def test_utilization(tmp_path: Path) -> None:
    gpus = [
        *[("a-0", 0, 0), ("a-0", 15, 100), ("a-0", 3600, 30), ("a-1", 0, None), ("a-1", 15, 50)],
        # A node's address is a separate device; a name that is not an address is omitted.
        *[("a", 0, 10), ("a-2", 15, None), ("pod.1", 0, 77), ("pod.1", 7200, 77)],
        *[("a-1", 3600, None), ("a-1", 10800, None)],
    ]
    rows = gpu_rows("GPU_UTIL", gpus)
    rows += gpu_rows("SM_ACTIVE", [("a-0", 0, 25), ("a-0", 15, 50)], "seren")
    rows += gpu_rows("GPU_TEMP", [("a-0", 0, 40)])
    # 07:00 on the next day. `b.1` is not a node.
    nodes = node_rows("NODE_CPU_UTILIZATION", [("a", 75600, 238.8), ("b", 75600, 0.0), ("b.1", 75600, 50)])
    nodes += node_rows("NODE_IB_SEND", [("a", 0, 10.0)])
    with create_database(tmp_path, gpu_metric=rows, node_metric=nodes) as connection:
        hours = answer(connection, "from acme.utilization_hourly_v1 order by cluster, metric, hour")
        gpu_util = answer(connection, "from acme.utilization_by_hour_of_day()")
        node_cpu = answer(connection, "from acme.utilization_by_hour_of_day('NODE_CPU_UTILIZATION')")
        connection.execute("set timezone = 'Asia/Kolkata'")
        elsewhere = answer(connection, "from acme.utilization_hourly_v1 order by cluster, metric, hour")
    assert [(*row[:2], seconds(row[2]), *row[3:]) for row in hours] == [
        ("kalos", "GPU_UTIL", 0, 3, 4, 2, 40, 100, 25),
        ("kalos", "GPU_UTIL", 3600, 1, 1, 1, 30, 30, 0),
        ("kalos", "GPU_UTIL", 10800, 0, 0, 1, None, None, None),
        ("kalos", "NODE_CPU_UTILIZATION", 75600, 2, 2, 0, pytest.approx(119.4), pytest.approx(238.8), 50),
        ("seren", "SM_ACTIVE", 0, 1, 2, 0, 37.5, 50, 0),
    ]
    assert gpu_util == [("kalos", 10, 40), ("kalos", 11, 30), ("kalos", 13, None)]
    assert node_cpu == [("kalos", 7, pytest.approx(119.4))]
    assert elsewhere == hours


def test_histogram(tmp_path: Path) -> None:
    values = [
        12345,
        999_999,
        1_234_567,
        0.123449,
        0.12345,
        0.99995,
        1234.56,
        61.25,
        0,
        None,
        -1.23456,
        0.12345,
    ]
    rows = gpu_rows("POWER_USAGE", [("a-0", 15 * i, value) for i, value in enumerate(values)])
    rows += gpu_rows("POWER_USAGE", [("pod.1", 0, 7.0)])
    nodes = node_rows("NODE_IB_SEND", [("a", 0, 0.0), ("b", 0, 0.0), ("b.1", 0, 9.0)])
    with create_database(tmp_path, gpu_metric=rows, node_metric=nodes) as connection:
        found = answer(connection, "from acme.metric_histogram_v1 order by metric, value")
        none = answer(connection, "from acme.share_at('NODE_IB_SEND')")
        over = answer(connection, "from acme.share_over('POWER_USAGE', 1235)")
    wanted = [-1.235, 0, 0.1234, 0.1235, 1, 61.25, 1235, 12345, 999_999, 1_235_000]
    counts = [1, 1, 1, 2, 1, 1, 1, 1, 1, 1]
    assert found == [("kalos", "NODE_IB_SEND", 0, 2)] + [
        ("kalos", "POWER_USAGE", pytest.approx(value, rel=1e-12), count)
        for value, count in zip(wanted, counts, strict=True)
    ]
    assert none == [("kalos", "NODE_IB_SEND", 2, 2, 100)]
    # 1234.56 is rounded to 1235, so it is not above 1235.
    assert over == [("kalos", "POWER_USAGE", 11, 3, pytest.approx(300 / 11))]


def test_cdf(tmp_path: Path) -> None:
    # Each of the four samples is 25 % of them: exactly 25 % are at most 10.
    rows = gpu_rows("GPU_UTIL", [(f"a-{gpu}", 0, value) for gpu, value in enumerate([10, 20, 20, 40, None])])
    rows += gpu_rows("GPU_UTIL", [("a-0", 0, 7)], "seren")
    with create_database(tmp_path, gpu_metric=rows) as connection:
        found = answer(connection, "from acme.metric_cdf_v1 order by cluster, percentile")
        few = answer(connection, "from acme.metric_percentiles()")
    halves = [half / 2 for half in range(201)]
    assert found == [
        ("kalos", "GPU_UTIL", p, 10 if p <= 25 else 20 if p <= 75 else 40, 4) for p in halves
    ] + [("seren", "GPU_UTIL", p, 7, 1) for p in halves]
    assert [row[2:] for row in few if row[0] == "kalos"] == [
        *[(0, 10), (1, 10), (5, 10), (10, 10), (25, 10), (50, 20)],
        *[(75, 20), (90, 40), (95, 40), (99, 40), (100, 40)],
    ]


def test_percentiles_are_counted_without_rounding(tmp_path: Path) -> None:
    """If p percent of the number of samples is a whole number n, percentile p is the n-th sample."""
    rows = gpu_rows("GPU_UTIL", [("a-0", second, second + 1) for second in range(200)])
    with create_database(tmp_path, gpu_metric=rows) as connection:
        found = answer(connection, "select percentile, value from acme.metric_cdf order by percentile")
    assert found == [(0, 1)] + [(number / 2, number) for number in range(1, 201)]


def test_memory(tmp_path: Path) -> None:
    used = [61440, 61441, 40960, None, 0]
    rows = gpu_rows("FB_USED", [(f"a-{gpu}", 0, value) for gpu, value in enumerate(used)])
    rows += gpu_rows("FB_USED", [("a-0", 0, 8192), ("a-1", 0, 0), ("pod.1", 0, 81920)], "seren")
    rows += gpu_rows("FB_USED", [("a-0", 15, 16384)], "seren")
    rows += gpu_rows("FB_FREE", [("a-0", 0, 1)])
    with create_database(tmp_path, gpu_metric=rows) as connection:
        found = answer(connection, "select * exclude (time) from acme.gpu_memory_used_v1 order by all")
        summary = answer(connection, "from acme.memory_used_percentiles()")
    assert found == [
        ("kalos", "a", 0, 61440, 75),
        ("kalos", "a", 1, 61441, pytest.approx(75.001220703125)),
        ("kalos", "a", 2, 40960, 50),
        ("kalos", "a", 4, 0, 0),
        ("seren", "a", 0, 8192, 10),
        ("seren", "a", 0, 16384, 20),
        ("seren", "a", 1, 0, 0),
    ]
    assert summary == [("kalos", 62.5, 25), ("seren", 10, 0)]


def test_server_power(tmp_path: Path) -> None:
    rows = [
        ("GPU_AB", at(0), 1000.0, 200.0, 100.0, None),
        ("GPU_AB", at(0), 2000.0, 200.0, None, 200.0),
        ("GPU_AB", at(15), None, 300.0, 100.0, None),
        # Servers of type B do not report memory power, so it is part of the rest.
        ("GPU_AB", at(15), 500.0, 100.0, None, None),
        # The rest has no share of a total of 0 W, nor of a total without the processors' power.
        ("GPU_AB", at(30), 0.0, 0.0, None, None),
        ("GPU_AB", at(30), 700.0, None, None, None),
        ("CPU_D", at(0), 600.0, 300.0, None, 60.0),
    ]
    with create_database(tmp_path, server_power=rows) as connection:
        found = answer(connection, "from acme.server_power_by_group()")
        covered = answer(connection, "from acme.coverage()")
    assert found == [
        ("CPU_D", True, 1, 600, 600, 600, 300, 60, 40, 40),
        ("GPU_AB", False, 3, 400, 500, 700, 50, None, 80, 80),
        ("GPU_AB", True, 3, 1500, 1500, 2000, pytest.approx(700 / 3), pytest.approx(400 / 3), 75, 75),
    ]
    assert covered == [
        ("seren", "server_power", "CPU_D", at(0), at(0), 1, None, None, None, None, 1, 0, None, None),
        ("seren", "server_power", "GPU_AB", at(0), at(30), 3, 15, 15, None, None, 6, 0, None, None),
    ]


def test_coverage(tmp_path: Path) -> None:
    gpus = [
        *[("a-0", 0, 1), ("a-0", 15, None), ("a-0", 30, 1), ("a-0", 600, 1)],
        *[("a-1", 0, None), ("a-1", 15, None), ("a", 0, 1)],
        # pod.1 and pod.2 are not addresses. Only pod.1 is sampled at 45 s.
        *[("pod.1", 0, 1), ("pod.1", 45, None), ("pod.2", 0, 1)],
    ]
    # A node's two ports are one device.
    ports = [("seren", "NODE_IB_SEND", "a", f"a-mlx5_{port}", at(15 * port), 1.0) for port in (0, 1)]
    with create_database(tmp_path, gpu_metric=gpu_rows("GPU_TEMP", gpus), node_metric=ports) as connection:
        found = answer(connection, "from acme.coverage()")
    first, last = at(0), at(600)
    assert found == [
        # Gaps of 15, 15, 15 and 555 s.
        *[("kalos", "gpu_metric", "GPU_TEMP", first, last, 5, 15, 555, 3, 2, 6, 4, 2416, 300 / 2416)],
        *[("seren", "node_metric", "NODE_IB_SEND", first, at(15), 2, 15, 15, 1, 0, 2, 0, 286, 100 / 286)],
    ]


JOB = ["cluster", "job_id", "state", "submit_time", "start_time", "end_time"]


def job_rows(connection: duckdb.DuckDBPyConnection, jobs: Iterable[Row]) -> None:
    for job in jobs:
        connection.execute(
            f"insert into acme.job_trace ({', '.join(JOB)}) values ({', '.join('?' for _ in JOB)})", list(job)
        )


def test_overlap(tmp_path: Path) -> None:
    codes = gpu_rows("XID_ERRORS", [("a-0", 200, 0), ("a-0", 300, 0), ("pod.1", 400, 0)])
    temperatures = gpu_rows("GPU_TEMP", [("a-0", 150, 40), ("pod.1", 0, 40)])
    jobs = [
        # One job ends as the telemetry begins, one starts as it ends, and one spans it.
        ("kalos", "before", "FAILED", at(10), at(50), at(100)),
        ("kalos", "after", "FAILED", at(10), at(500), at(600)),
        ("kalos", "all of it", "COMPLETED", at(20), at(50), at(600)),
        # The period with codes includes its first and last second.
        ("kalos", "first code", "FAILED", at(20), at(50), at(200)),
        ("kalos", "last code", "FAILED", at(20), at(250), at(300)),
        ("kalos", "no code", "FAILED", at(20), at(350), at(360)),
        ("kalos", "another end", "CANCELLED", at(20), at(250), at(260)),
        ("kalos", "running", "RUNNING", at(20), at(250), None),
        ("seren", "no telemetry", "FAILED", at(5), at(10), at(20)),
    ]
    with create_database(
        tmp_path,
        gpu_metric=codes + temperatures,
        node_metric=node_rows("NODE_IB_SEND", [("a", 100, 1.0), ("a", 500, 1.0), ("a.1", 900, 1.0)]),
    ) as connection:
        job_rows(connection, jobs)
        found = answer(connection, "from acme.overlap()")
        connection.execute("delete from acme.job_trace where cluster = 'kalos'")
        without_jobs = answer(connection, "select cluster, jobs, telemetry_first from acme.overlap()")
    joins = ("cluster and time", "node: no job names one")
    assert found == [
        ("kalos", 8, at(10), at(600), at(100), at(500), 5, 62.5, 5, 2, *joins),
        ("seren", 1, at(5), at(20), None, None, 0, 0, 1, 0, *joins),
    ]
    assert without_jobs == [("kalos", 0, at(100)), ("seren", 1, None)]


def test_a_day_of_a_gpu(tmp_path: Path) -> None:
    # The day of START begins 10 hours before START and ends 14 hours after it.
    cells = [
        *[("b-0", -36_001, 1), ("b-0", -36_000, 2), ("b-0", 50_399, None), ("b-0", 50_400, 4)],
        *[("b-1", 0, 5), ("c-0", 0, 6), ("b", 0, 7), ("a.1", 0, 8)],
    ]
    rows = gpu_rows("GPU_UTIL", cells) + gpu_rows("GPU_TEMP", [("a-0", -40_000, 9)])
    with create_database(tmp_path, gpu_metric=rows) as connection:

        def day(arguments: str) -> list[tuple]:
            return [
                (seconds(time), value)
                for time, value in answer(connection, f"from acme.gpu_day({arguments})")
            ]

        assert day("") == [(-36_001, 1)]
        assert day("on_day := date '2023-08-29'") == [(-36_000, 2), (50_399, None)]
        assert day("on_day := date '2023-08-29', on_gpu := 1") == [(0, 5)]
        assert day("on_day := date '2023-08-29', on_gpu := null") == [(0, 7)]
        assert day("on_day := date '2023-08-29', on_node := 'c'") == [(0, 6)]
        assert day("on_node := 'c'") == []
        assert day("on_day := date '2023-08-30'") == [(50_400, 4)]
        assert day("on_metric := 'GPU_TEMP'") == [(-40_000, 9)]
        assert day("on_cluster := 'seren'") == []
        connection.execute("set timezone = 'America/New_York'")
        assert day("on_day := date '2023-08-29'") == [(-36_000, 2), (50_399, None)]


def test_an_hour_of_the_fleet(tmp_path: Path) -> None:
    cells = [
        # The first full hour begins at 11 o'clock.
        *[("b-0", 7, 100), ("b-0", 3600, 0), ("b-0", 7199, 50), ("b-0", 7200, 100)],
        *[("b-1", 3600, None), ("b", 3600, 3), ("a-0", 3601, 4), ("a.1", 3600, 5)],
    ]
    with create_database(tmp_path, gpu_metric=gpu_rows("GPU_UTIL", cells)) as connection:
        first = answer(connection, "from acme.fleet_hour()")
        given = answer(
            connection, "from acme.fleet_hour(from_time := timestamptz '2023-08-29 12:00:00+08:00')"
        )
        connection.execute("delete from acme.gpu_metric where time < $at", {"at": at(3600)})
        on_the_hour = answer(connection, "from acme.fleet_hour()")
    wanted = [("a", 0, 1, 0, 4, 4), ("b", 0, 2, 0, 25, 50), ("b", 1, 0, 1, None, None)]
    assert first == [*wanted, ("b", None, 1, 0, 3, 3)]
    assert given == [("b", 0, 1, 0, 100, 100)]
    assert on_the_hour == first


def test_distance_from_a_curve(tmp_path: Path) -> None:
    # Percent of 80 GiB: 0, 0, 75.0012 and 75.42. The other values belong to other metrics and clusters.
    memory = gpu_rows("FB_USED", [(f"a-{gpu}", 0, mib) for gpu, mib in enumerate([0, 0, 61441, 61784])])
    memory += gpu_rows("FB_USED", [("a-0", 0, 81920)], "seren") + gpu_rows("FB_FREE", [("a-0", 0, 5)])
    activity = gpu_rows("SM_ACTIVE", [("a-0", 0, 12.345), ("a-0", 15, 50)], "seren")
    power = [("GPU_AB", at(0), 500.0, None, None, None), ("GPU_C", at(0), 1500.0, None, None, None)]
    power += [("CPU_D", at(0), 550.0, None, None, None), ("CPU_D", at(0), None, None, None, None)]
    points = [
        # All points fit: the measured CDF rises from 0 to 50 % at 0, and from 50 to 75 % at 75.0, to which
        # 75.0012 and 75.0014 are rounded.
        *[("memory", 0, 0.0), ("memory", 45, 0.0), ("memory", 60, 75.0), ("memory", 70, 75.0014)],
        ("memory", 100, 75.42),
    ]
    with create_database(tmp_path, gpu_metric=memory + activity, server_power=power) as connection:

        def distance(curve: str, points: Iterable[tuple[float, float]]) -> list[tuple]:
            connection.execute("delete from catalog.reference_curves")
            for percentile, value in points:
                connection.execute(
                    "insert into catalog.reference_curves values ('acme', ?, ?, ?)",
                    [curve, percentile, value],
                )
            return answer(connection, f"from acme.curve_distance('{curve}')")

        on_memory = "kalos.gpu_memory_used_pct"
        assert distance(on_memory, [point[1:] for point in points]) == [(on_memory, 5, 0)]
        assert distance(on_memory, [(60, 0.0), (90, 75.0)]) == [(on_memory, 2, 15)]
        assert distance(on_memory, [(10, 50.0), (90, 60.0)]) == [(on_memory, 2, 40)]
        assert distance(on_memory, [(10, 75.42)]) == [(on_memory, 1, 65)]
        # 12.345 % and 12.3451 % are both rounded to 12.35 %.
        assert distance("seren.sm_active_pct", [(50, 12.3451), (99, 50.0)]) == [("seren.sm_active_pct", 2, 0)]
        assert distance("seren.gpu_server_power_w", [(50, 500.0), (80, 1500.4)]) == [
            ("seren.gpu_server_power_w", 2, 0)
        ]
        assert distance("seren.cpu_server_power_w", [(30, 540.0)]) == [("seren.cpu_server_power_w", 1, 30)]
        assert distance("kalos.gpu_temp_c", [(30, 40.0)]) == [("kalos.gpu_temp_c", 1, None)]
        with pytest.raises(duckdb.InvalidInputException, match="on_curve is kalos"):
            answer(connection, "from acme.curve_distance('no.such')")
