"""Synthetic telemetry of Acme has the formats, pitfalls and distributions of the published telemetry."""

import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from counting import non_empty

from tracehouse.core.errors import UserError
from tracehouse.ingest.reference_curves import Curve, read_curves
from tracehouse.ingest.traces.acme import GPU_METRIC, NODE_METRIC, SERVER_POWER
from tracehouse.samples import dumps
from tracehouse.samples.traces.acme_telemetry import (
    CLUSTERS,
    GPU_NAMES,
    NODE_NAMES,
    write_metric,
    write_telemetry,
)

SMALLEST, SMALL = 0.0005, 0.02
WHOLE = (
    "GPU_TEMP",
    "MEMORY_TEMP",
    "MEM_CLOCK",
    "SM_CLOCK",
    "MEM_COPY_UTIL",
    "GPU_UTIL",
    "FB_FREE",
    "FB_USED",
)
PERCENTS = ("DRAM_ACTIVE", "PIPE_TENSOR_ACTIVE", "SM_ACTIVE", "SM_OCCUPANCY", *NODE_NAMES[:2])
THOUSANDTHS = ("NODE_IB_SEND", "NODE_IB_RECEIVE")
CURVES = {
    "GPU_TEMP": ("gpu_temp_c", 1),
    "MEMORY_TEMP": ("memory_temp_c", 1),
    "GPU_UTIL": ("gpu_util_pct", 1),
    "FB_USED": ("gpu_memory_used_pct", 100 / (80 * 1024)),
    "POWER_USAGE": ("gpu_power_w", 1),
    "SM_ACTIVE": ("sm_active_pct", 1),
    "SM_OCCUPANCY": ("sm_occupancy_pct", 1),
    "PIPE_TENSOR_ACTIVE": ("curve4_pct", 1),
    "NODE_CPU_UTILIZATION": ("node_cpu_util_pct", 1),
    "NODE_MEMORY_UTILIZATION": ("node_memory_util_pct", 1),
    "NODE_IB_SEND": ("ib_send", 1),
    "NODE_IB_RECEIVE": ("ib_receive", 1),
}


def ignore(count: int) -> None:
    pass


def write_sample(folder: Path, scale: float, seed: int = 7) -> Path:
    write_telemetry(folder, scale, np.random.default_rng(seed), ignore)
    return folder


@pytest.fixture(scope="module")
def smallest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("smallest"), SMALLEST)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sample(tmp_path_factory.mktemp("small"), SMALL)


@pytest.fixture(params=["smallest", "small"])
def raw(request: pytest.FixtureRequest) -> Path:
    folder: Path = request.getfixturevalue(request.param)
    return folder


def text(raw: Path, file: str) -> pl.DataFrame:
    """Return a file with all cells as strings, because the format of numbers matters."""
    return pl.read_csv(raw / f"{file}.csv", infer_schema=False)


def numbers(raw: Path, file: str) -> pd.DataFrame:
    frame = pd.read_csv(raw / f"{file}.csv", index_col="Time")
    frame.index = pd.to_datetime(frame.index)
    return frame.astype(float)


def cells(frame: pl.DataFrame) -> pl.Series:
    """Return all cells that are not empty."""
    return frame.drop("Time").unpivot()["value"].drop_nulls()


def metric_files(raw: Path, cluster: str, metric: str) -> list[str]:
    paths = [*raw.glob(f"{cluster}/{metric}.csv"), *raw.glob(f"{cluster}/{metric}-2023-*.csv")]
    return sorted(path.relative_to(raw).with_suffix("").as_posix() for path in paths)


# The format.


def test_files_match_one_declaration(raw: Path) -> None:
    for cluster in CLUSTERS:
        assert all(metric_files(raw, cluster, metric) for metric in (*GPU_NAMES, *NODE_NAMES))
    assert len(GPU_NAMES) == 14 and len(NODE_NAMES) == 4
    for path in raw.rglob("*.csv"):
        owners = [
            table.name
            for table in (GPU_METRIC, NODE_METRIC, SERVER_POWER)
            if table.key_values(path.name, path.parent.name) is not None
        ]
        assert len(owners) == 1, path


def test_times_are_15_s_apart_with_gaps_in_both_months(raw: Path) -> None:
    for path in raw.glob("[sk]*/*.csv"):
        stamps = text(raw, path.relative_to(raw).with_suffix("").as_posix())["Time"]
        assert stamps.str.contains(r"^2023-0[78]-\d\d \d\d:\d\d:(00|15|30|45)\+08:00$").all(), path
        assert stamps.is_sorted() and stamps.is_unique().all(), path
    when = numbers(raw, "seren/GPU_UTIL").index
    assert str(when[0]) == "2023-07-01 00:00:00+08:00"
    assert str(when[-1]) == "2023-08-31 23:59:45+08:00"
    days = {str(day) for day in when.date}
    assert {"2023-07-01", "2023-07-19", "2023-07-31", "2023-08-01", "2023-08-29", "2023-08-31"} <= days
    gaps = pd.Series(when[1:] - when[:-1]).dt.total_seconds()
    assert gaps.median() == 15
    assert (gaps % 15 == 0).all()
    assert ((gaps > 15) & (gaps <= 60)).any()


def test_device_names(raw: Path) -> None:
    for cluster, network in (("seren", r"10\.140"), ("kalos", r"172\.31")):
        address = network + r"\.\d{1,3}\.\d{1,3}"
        gpus = text(raw, f"{cluster}/GPU_UTIL").columns[1:]
        nodes = text(raw, f"{cluster}/NODE_CPU_UTILIZATION").columns[1:]
        assert all(re.fullmatch(address + "-[0-7]", name) for name in gpus)
        assert all(re.fullmatch(address, name) for name in nodes)
        assert {name.rpartition("-")[0] for name in gpus} == set(nodes)
        assert len(gpus) == 8 * len(nodes) >= 32
        suffix = "-mlx5_0" if cluster == "seren" else ""
        for metric in ("NODE_IB_SEND", "NODE_IB_RECEIVE"):
            assert set(text(raw, f"{cluster}/{metric}").columns[1:]) == {name + suffix for name in nodes}


@pytest.mark.parametrize(
    ("metrics", "pattern"),
    [
        (WHOLE, r"^\d+$"),
        (PERCENTS, r"^\d{1,3}\.\d{1,3}$"),
        (THOUSANDTHS, r"^\d+\.\d{1,3}$"),
        (("XID_ERRORS",), r"^(0|31|43|45|94)$"),
    ],
)
def test_number_formats(small: Path, metrics: tuple[str, ...], pattern: str) -> None:
    for cluster in non_empty(CLUSTERS):
        for metric in non_empty(metrics):
            for file in non_empty(metric_files(small, cluster, metric)):
                assert cells(text(small, file)).str.contains(pattern).all(), file


def test_used_and_free_memory_sum_to_the_total(raw: Path) -> None:
    total = numbers(raw, "seren/FB_USED") + numbers(raw, "seren/FB_FREE")
    assert total.stack().dropna().between(81_250, 81_252).all()


# Pitfalls.


def test_monthly_files_differ_in_columns_and_overlap_in_lines(raw: Path) -> None:
    july, august = (numbers(raw, file) for file in metric_files(raw, "kalos", "GPU_TEMP"))
    assert set(july.columns) - set(august.columns) and set(august.columns) - set(july.columns)
    again = july.index.intersection(august.index)
    assert 1 <= len(again) < 20
    both = july.columns.intersection(august.columns)
    pd.testing.assert_frame_equal(july.loc[again, both], august.loc[again, both])
    assert july.index[-1].month == 7
    assert len(july.index.union(august.index)) in (400, round(77_472 * SMALL))


def test_repeated_columns(raw: Path) -> None:
    before, during, after = (
        numbers(raw, file) for file in metric_files(raw, "seren", "NODE_MEMORY_UTILIZATION")
    )
    extra = [name for name in during.columns if name.endswith(".1") and name.count(".") == 4]
    assert extra
    for name in extra:
        original = during[name.removesuffix(".1")]
        pd.testing.assert_series_equal(during[name], original, check_names=False)
    assert set(during.columns) - set(extra) == set(before.columns) == set(after.columns)
    start, stop = pd.Timestamp("2023-07-19 11:35+08:00"), pd.Timestamp("2023-07-19 14:01+08:00")
    assert before.index[-1] < start <= during.index[0] < during.index[-1] <= stop < after.index[0]


def test_empty_cells_are_in_runs(raw: Path) -> None:
    for cluster in non_empty(CLUSTERS):
        empty = numbers(raw, f"{cluster}/GPU_UTIL").isna()
        assert 0 < empty.to_numpy().mean() < 0.03
        assert (empty & empty.shift()).to_numpy().any()


def test_metric_with_one_line(raw: Path) -> None:
    assert len(numbers(raw, "kalos/DRAM_ACTIVE")) == 1
    assert len(numbers(raw, "seren/DRAM_ACTIVE")) >= 400


def test_names_without_gpu_number_or_address(raw: Path) -> None:
    names = text(raw, "kalos/MEM_CLOCK").columns[1:]
    bare = [name for name in names if "-" not in name]
    assert bare and len(bare) < len(names) / 8
    assert not {f"{name}-0" for name in bare} & set(names)
    other = [name for name in text(raw, "kalos/MEMORY_TEMP").columns[1:] if not name[0].isdigit()]
    assert len(other) == 1


def test_cpu_utilization_above_100_percent(raw: Path) -> None:
    assert numbers(raw, "kalos/NODE_CPU_UTILIZATION").max().max() == pytest.approx(238.87, abs=1e-2)
    assert numbers(raw, "seren/NODE_CPU_UTILIZATION").max().max() == 100


def onsets(frame: pd.DataFrame) -> pd.DataFrame:
    """Return times and devices at which a code follows a 0 or an empty cell."""
    code = frame.fillna(0)
    began = (code > 0) & (code.shift() == 0)
    return code.where(began).stack().dropna().rename_axis(["time", "device"]).rename("code").reset_index()


def test_error_codes_stay_until_cleared(raw: Path) -> None:
    kalos = numbers(raw, "kalos/XID_ERRORS")
    assert kalos.isna().to_numpy().mean() > 0.6
    assert set(kalos.stack().dropna()) == {0, 31, 43, 45, 94}
    code = kalos.fillna(0)
    assert ((code > 0) & (code == code.shift())).to_numpy().sum() > 5 * len(onsets(kalos))
    assert ((code > 0) & (code.shift() > 0) & (code != code.shift())).to_numpy().any()
    assert (code.iloc[0] > 0).any()
    began = (code > 0) & (code.shift() == 0)
    assert (began & kalos.shift().isna()).to_numpy()[1:].any()
    assert (began & (kalos.shift() == 0)).to_numpy().any()


def test_burst_of_gpu_errors(raw: Path) -> None:
    kalos = numbers(raw, "kalos/XID_ERRORS")
    every = onsets(kalos)
    start, stop = pd.Timestamp("2023-08-29 13:57+08:00"), pd.Timestamp("2023-08-29 14:00+08:00")
    burst = every[every["time"].between(start, stop)]
    nodes = burst["device"].str.rpartition("-")[0].nunique()
    assert len(burst) >= 10
    assert burst["device"].nunique() == pytest.approx(0.376 * kalos.shape[1], abs=1)
    assert nodes == pytest.approx(0.48 * kalos.shape[1] / 8, abs=1)
    assert burst["code"].value_counts().idxmax() == 43
    assert burst["time"].drop_duplicates().diff().max() <= pd.Timedelta(60, "s")
    assert len(burst) > 2 * (len(every) - len(burst))
    assert 0 < len(onsets(numbers(raw, "seren/XID_ERRORS"))) < 10


def test_server_power_columns(raw: Path) -> None:
    gpu, other, cpu = (pd.read_csv(raw / f"ipmi/{name}_Power.csv") for name in ("GPU_AB", "GPU_C", "CPU_D"))
    assert list(gpu.columns) == ["Time", "Sys_Total_Power", "CPU_Power", "MEM_Power"]
    assert list(other.columns) == list(cpu.columns) == [*gpu.columns[:3], "Memory_Power"]
    assert 0.2 < gpu["MEM_Power"].isna().mean() < 0.6
    assert other.notna().all().all() and cpu.notna().all().all()
    rest = 1 - (other["CPU_Power"] + other["Memory_Power"]) / other["Sys_Total_Power"]
    assert rest.median() == pytest.approx(2 / 3, abs=0.05)
    assert gpu["Sys_Total_Power"].max() > 3 * cpu["Sys_Total_Power"].max()


# Size.


def test_lines_and_devices_follow_the_scale(small: Path, tmp_path: Path) -> None:
    utilisation = text(small, "seren/GPU_UTIL")
    assert utilisation.height == round(350_000 * SMALL)
    assert utilisation.width == 1 + 8 * round(286 * SMALL)
    assert text(small, "kalos/SM_ACTIVE").height == round(86_742 * SMALL)


@pytest.mark.parametrize("scale", [SMALLEST, 0.005, SMALL])
def test_expected_bytes(scale: float, tmp_path: Path) -> None:
    counts: list[int] = []
    dumps.write_sample(tmp_path, scale, 3, ["acme"], lambda _, count: counts.append(count))
    assert sum(counts) == sum(path.stat().st_size for path in tmp_path.rglob("*.csv"))
    assert dumps.expected_bytes(["acme"], scale) == pytest.approx(sum(counts), rel=0.05)


def test_expected_bytes_grow_with_the_square_of_the_scale() -> None:
    assert 60e9 < dumps.expected_bytes(["acme"], 1) < 90e9
    tenth, half = (dumps.expected_bytes(["acme"], scale) for scale in (0.1, 0.5))
    assert half == pytest.approx(25 * tenth, rel=0.1)


def test_rejects_a_sample_larger_than_the_disk(tmp_path: Path) -> None:
    out = tmp_path / "new" / "raw"
    with pytest.raises(
        UserError, match=r"about [\d,.]+ GB, but only .* are free in .*nothing was written.*scale"
    ):
        dumps.write_sample(out, 1000, 0, ["zeus", "acme"], lambda *_: None)
    assert list(tmp_path.iterdir()) == []


# The values.


def test_seed_determines_the_bytes(smallest: Path, tmp_path: Path) -> None:
    same, other = (
        write_sample(tmp_path / "same", SMALLEST),
        write_sample(tmp_path / "other", SMALLEST, seed=8),
    )
    paths = sorted(path.relative_to(smallest) for path in smallest.rglob("*.csv"))
    for path in paths:
        content = (smallest / path).read_bytes()
        assert (same / path).read_bytes() == content, path
        assert (other / path).read_bytes() != content, path
    assert len(paths) == len(list(other.rglob("*.csv")))


def metric(folder: Path, cluster: str, name: str, lines: int, devices: int) -> pd.DataFrame:
    path = folder / f"{cluster}-{name}.csv"
    write_metric(path, cluster, name, lines, devices, np.random.default_rng(1), ignore)
    frame = numbers(folder, path.stem)
    assert frame.shape == (lines, devices)
    return frame


def distance(values: np.ndarray, published: list[tuple[float, float]]) -> float:
    """Return the largest difference, in percentage points, of the values' CDF from published points."""
    found = np.sort(values)
    at = np.array([value for _, value in published])
    percentile = np.array([each for each, _ in published])
    low, high = (100 * np.searchsorted(found, at, side) / len(found) for side in ("left", "right"))
    return float(np.maximum(0, np.maximum(low - percentile, percentile - high)).max())


def points(curve: Curve) -> list[tuple[float, float]]:
    return list(zip(curve.percentiles, curve.values, strict=True))


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("name", CURVES)
def test_values_follow_published_curves(
    cluster: str, name: str, tmp_path: Path, published: Callable[[str], list[tuple[float, float]]]
) -> None:
    curve, factor = CURVES[name]
    ours = cluster if f"{cluster}.{curve}" in read_curves("acme") else "seren"
    values = metric(tmp_path, cluster, name, 4_000, 128).stack().dropna().to_numpy() * factor
    if name == "FB_USED":
        # The publisher's percentages of whole MiB are rounded.
        values = np.round(values, 4)
    assert distance(values, published(f"{ours}.{curve}")) < 2


@pytest.fixture(params=["package", "publisher"])
def published(request: pytest.FixtureRequest) -> Callable[[str], list[tuple[float, float]]]:
    """Return a function that reads points of a curve, from the package or the publisher's complete file."""
    if request.param == "package":
        return lambda name: points(read_curves("acme")[name])
    path = request.getfixturevalue("real_raw") / "acme" / "reference_cdfs.csv"
    if not path.is_file():
        pytest.skip(f"{path} does not exist")
    every = pl.read_csv(path)
    return lambda name: list(every.filter(pl.col("curve") == name).select("percentile", "value").iter_rows())


def test_server_power_follows_the_published_curve(small: Path) -> None:
    gpu = pd.concat([pd.read_csv(small / f"ipmi/{name}_Power.csv") for name in ("GPU_AB", "GPU_C")])
    assert len(gpu["Time"].unique()) > 60
    curve = read_curves("acme")["seren.gpu_server_power_w"]
    # The tolerance is wide, because the sample has few servers and times.
    assert distance(gpu["Sys_Total_Power"].to_numpy(), points(curve)) < 20


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_values_change_slowly(cluster: str, tmp_path: Path) -> None:
    utilisation = metric(tmp_path, cluster, "GPU_UTIL", 1_500, 64)
    of_each = [column.autocorr(1) for _, column in utilisation.items()]
    assert min(of_each) > 0.5
    assert abs(np.mean([column.autocorr(200) for _, column in utilisation.items()])) < 0.3


def test_metrics_of_a_gpu_are_correlated(small: Path) -> None:
    for cluster in non_empty(CLUSTERS):
        busy = numbers(small, f"{cluster}/GPU_UTIL").stack().dropna()
        for name in ("POWER_USAGE", "SM_ACTIVE", "FB_USED"):
            other = numbers(small, f"{cluster}/{name}").stack().dropna()
            both = pd.concat([busy, other], axis=1, join="inner")
            assert len(both) > 0.7 * len(busy)
            assert both.corr("spearman").iloc[0, 1] > 0.6, name
        apart = numbers(small, f"{cluster}/GPU_UTIL").corr().to_numpy()
        assert abs(np.mean(apart[~np.eye(len(apart), dtype=bool)])) < 0.2


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "GPU_UTIL.csv"

    def peak(lines: int) -> int:
        tracemalloc.reset_peak()
        write_metric(path, "kalos", "GPU_UTIL", lines, 2_300, np.random.default_rng(0), ignore)
        return tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    try:
        small, large = peak(1_000), peak(15_000)
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 100e6
    assert large < 60e6
    assert large < 1.2 * small
