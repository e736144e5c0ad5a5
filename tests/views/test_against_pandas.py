"""Compare the views and queries that define a quantity, row by row, with pandas on the raw files."""

import importlib
import pkgutil
from collections.abc import Callable, Container, Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pytest
import raw_dumps
import raw_frames
import reference_results
from random_seed import DEPTH

from tracehouse.ingest.declarations import all_traces

MODULES = [
    importlib.import_module(f"reference_results.{found.name}")
    for found in pkgutil.iter_modules(reference_results.__path__)
]


def results(raw: Path) -> Iterator[tuple[str, Callable[[], pd.DataFrame], list[str] | None]]:
    """Yield a view or call, a function that computes it from raw files, and the key columns."""
    for module in MODULES:
        for view, (compute, keys) in module.VIEWS.items():
            yield view, lambda compute=compute: compute(raw), keys
        at_depth = getattr(module, "QUERIES_AT_DEPTH", {}) if DEPTH > 1 else {}
        queries = getattr(module, "QUERIES", {}) | at_depth
        for call, (compute, arguments, keys) in queries.items():
            yield call, lambda compute=compute, arguments=arguments: compute(raw, *arguments), keys


def compare(
    connection: duckdb.DuckDBPyConnection, raw: Path, schemas: Container[str]
) -> tuple[set[str], list[str]]:
    """Return the names of results that have rows in the warehouse, and how they differ from pandas."""
    compared, differences = set(), []
    for name, compute, keys in results(raw):
        if name.split(".")[0] not in schemas:
            continue
        answer = connection.sql(f"from {name}").to_arrow_table()
        if answer.num_rows:
            compared.add(name)
            try:
                raw_frames.assert_same_rows(answer, compute(), keys)
            except AssertionError as error:
                differences.append(f"{name}: {error}")
    return compared, differences


def test_quantities_on_samples(
    synthetic: duckdb.DuckDBPyConnection, sample_raw: Path, tested_traces: list[str]
) -> None:
    schemas = {*tested_traces, "unified"}
    compared, differences = compare(synthetic, sample_raw, schemas)
    assert compared == {name for name, *_ in results(sample_raw) if name.split(".")[0] in schemas}
    assert differences == []


def test_quantities_on_real_files(real: duckdb.DuckDBPyConnection, real_raw: Path) -> None:
    """Views without rows need files that are not among the available ones."""
    compared, differences = compare(real, real_raw, {*all_traces(), "unified"})
    assert {
        "itp.job_v1",
        "openb.pod_lifecycle_v1",
        "zeus.energy_to_accuracy_v1",
        "unified.jobs_v2",
    } <= compared
    assert differences == []


@pytest.mark.each_trace
def test_jobs_of_every_trace_have_a_reference_result(synthetic: duckdb.DuckDBPyConnection) -> None:
    views = {view for module in MODULES for view in module.VIEWS}
    rows = synthetic.execute(
        "select distinct trace || '.standard_job_v1' from catalog.views where view_name like '%.standard_job'"
    ).fetchall()
    assert {name for (name,) in rows} <= views


def test_itp_jobs_and_gpu_hours_equal_the_published_figures(real: duckdb.DuckDBPyConnection) -> None:
    jobs, gpu_h = real.execute("select count(*), sum(gpu_h) from itp.job_v1").fetchall()[0]
    assert jobs == 69_351
    assert gpu_h == pytest.approx(1_632_719.74, abs=0.005)


def test_itp_clusters(real: duckdb.DuckDBPyConnection) -> None:
    rows = real.execute(
        "select cluster, count(*), round(sum(gpu_h), 1), round(avg(requested_gpus), 2), max(requested_gpus)"
        " from itp.job_v1 group by cluster order by cluster"
    ).fetchall()
    assert rows == [
        ("cluster01", 1_595, 22_740.1, 2.34, 64),
        ("cluster02", 5_778, 123_748.4, 2.04, 64),
        ("cluster03", 3_011, 165_442.5, 6.23, 64),
        ("cluster04", 15_802, 705_682.9, 3.03, 64),
        ("cluster05", 3_629, 14_303.1, 1.19, 8),
        ("cluster06", 2_396, 123_878.7, 5.19, 64),
        ("cluster07", 12_699, 366_799.8, 1.84, 16),
        ("cluster08", 13_047, 67_100.0, 1.10, 32),
        ("cluster09", 11_134, 39_000.8, 1.00, 1),
        ("cluster10", 260, 4_023.5, 1.47, 16),
    ]


def test_itp_test_bed_is_not_counted_twice(real: duckdb.DuckDBPyConnection, real_raw: Path) -> None:
    generated = raw_frames.itp_table(real_raw, "elasticflow-traces.tar.gz")
    test_bed = generated[generated["csv"] == "195job"]
    gpu_hours = (test_bed["num_gpu"] * test_bed["duration"]).sum() / 3600
    assert (len(test_bed), round(gpu_hours, 1)) == (195, 5_489.8)
    jobs = real.sql("select cluster, job_id, deadline_s from itp.job_v1").to_arrow_table().to_pandas()
    selected = test_bed.merge(jobs, on="job_id")
    assert len(selected) == 195
    assert set(selected["cluster"]) == {"cluster02"}
    assert (selected["deadline"] != selected["deadline_s"]).all()


def test_openb_capacity(real: duckdb.DuckDBPyConnection) -> None:
    rows = real.execute(
        "select model, nodes, gpus from openb.capacity_v1 where node_list = 'gpu_node' order by model"
    ).fetchall()
    assert rows == [
        ("A10", 2, 2),
        ("G2", 549, 4_392),
        ("G3", 39, 312),
        ("P100", 134, 265),
        ("T4", 404, 842),
        ("V100M16", 55, 195),
        ("V100M32", 30, 204),
    ]
    assert sum(nodes for _, nodes, _ in rows) == 1_213
    assert sum(gpus for _, _, gpus in rows) == 6_212


@pytest.mark.parametrize(
    ("column", "counts"),
    [
        ("pod_phase", {"Running": 4_149, "Failed": 1_869, "Pending": 861, "Succeeded": 185}),
        (
            "gpu_tier",
            {
                "whole GPUs": 3_986,
                "501 to 999 milli": 1_478,
                "251 to 500 milli": 1_292,
                "up to 250 milli": 308,
            },
        ),
    ],
)
def test_openb_gpu_pods(column: str, counts: dict[str, int], real: duckdb.DuckDBPyConnection) -> None:
    rows = real.execute(
        f"select {column}, count(*) from openb.pod_lifecycle_v1"
        f" where variant = 'default' and requested_gpus > 0 group by {column}"
    ).fetchall()
    assert dict(rows) == counts
    assert sum(counts.values()) == 7_064


def test_openb_waits_of_gpu_pods(real: duckdb.DuckDBPyConnection) -> None:
    waits = real.execute(
        "select median(wait_s), quantile_cont(wait_s, 0.9), quantile_cont(wait_s, 0.99), max(wait_s)"
        " from openb.pod_lifecycle_v1 where variant = 'default' and requested_gpus > 0"
    ).fetchall()[0]
    assert [round(wait) for wait in waits] == [2, 139, 1_109, 14_330]


def test_unscheduled_openb_pods_have_no_wait(real: duckdb.DuckDBPyConnection) -> None:
    counts = real.execute(
        "select count(*), count(wait_s), count(run_s) from openb.pod_lifecycle_v1"
        " where variant = 'default' and pod_phase = 'Pending'"
    ).fetchall()[0]
    assert counts == (897, 0, 0)


def test_zeus_rows_and_unreached_targets(real: duckdb.DuckDBPyConnection) -> None:
    counts = real.execute("select count(*), count(*) - count(target_epoch) from zeus.train").fetchall()[0]
    assert counts == (3_759, 849)


# Per data set on the V100: target and default batch size of the publisher's replay script; seconds and
# joules at that batch size and 250 W; percentages of energy saved by the best batch size at 250 W, by the
# best power limit at the default batch size, and by the best of both; best batch size and power limit.
ZEUS_ON_V100 = {
    "cifar100": (0.6, 1024, 599, 112_458, 63.2, 31.4, 74.7, (128, 100)),
    "imagenet": (0.65, 256, 74_518, 16_412_549, 3.0, 22.5, 23.8, (360, 150)),
    "squad": (84.0, 32, 7_106, 1_621_829, 6.7, 17.8, 27.6, (8, 125)),
    "librispeech": (40.0, 192, 59_343.6, 9_528_122, 18.0, 16.2, 42.8, (32, 100)),
    "movielens-1m": (0.41, 1024, 85, 3_229, 65.0, 3.0, 66.6, (16384, 150)),
    "sentiment140": (0.84, 128, 12_345, 2_758_293, 3.4, 21.2, 26.4, (32, 125)),
}


@pytest.mark.parametrize("dataset", ZEUS_ON_V100)
def test_zeus_savings_on_v100(dataset: str, real: duckdb.DuckDBPyConnection) -> None:
    target, batch_size, seconds, joules, by_batch, by_power, by_both, best = ZEUS_ON_V100[dataset]
    configs = real.sql(
        "from zeus.energy_to_accuracy_v1 where gpu = 'v100' and energy_to_accuracy_j is not null"
        f" and dataset = '{dataset}' and target_metric = {target}"
    )
    frame = configs.to_arrow_table().to_pandas()
    at_default, at_most = frame["batch_size"] == batch_size, frame["power_limit_w"] == 250
    base = frame[at_default & at_most].iloc[0]
    energy = frame["energy_to_accuracy_j"]
    assert base["time_to_accuracy_s"] == pytest.approx(seconds, abs=0.5)
    assert base["energy_to_accuracy_j"] == pytest.approx(joules, abs=0.5)
    for saving, rows in ((by_batch, at_most), (by_power, at_default), (by_both, energy > 0)):
        left = energy[rows].min() / base["energy_to_accuracy_j"]
        assert 100 * (1 - left) == pytest.approx(saving, abs=0.05)
    cheapest = frame.loc[energy.idxmin()]
    assert (cheapest["batch_size"], cheapest["power_limit_w"]) == best


def test_pai_machines_and_gpus(real: duckdb.DuckDBPyConnection) -> None:
    counts = real.execute(
        "select count(*), sum(cap_gpu), count(*) filter (where cap_gpu > 0) from pai.machine_spec"
    ).fetchall()[0]
    assert counts == (1_897, 6_742, 1_814)


def test_acme_jobs_of_the_readme(tmp_path: Path) -> None:
    """Jobs of the publisher's README: Kalos's times are in UTC, and its durations start at submission."""
    folder = tmp_path / "raw" / "acme" / "data" / "job_trace"
    ids, sizes = "job_id,user,node_num,gpu_num,cpu_num", "mem_per_pod_GB,shared_mem_per_pod"
    times, sums = "submit_time,start_time,end_time", "duration,queue,gpu_time"

    def stamps(zone: str, *clock: str) -> str:
        return ",".join(f"2023-05-17 {time}{zone}" for time in clock)

    early = stamps("+00:00", "11:00:58", "11:01:08", "11:01:16")
    late = stamps("+00:00", "11:28:42", "11:28:54", "11:30:04")
    waited = stamps("+08:00", "19:00:58", "19:01:08", "19:01:16")
    at_once = stamps("+08:00", "19:00:58", "19:00:58", "19:01:16")
    rows = {
        "trace_kalos.csv": [
            f"{ids},{sizes},type,state,{times},fail_time,stop_time,{sums}",
            f"dlc1,ua,8,64,960,1000,500,Other,COMPLETED,{early},,,18.0,10.0,1152.0",
            f"dlc2,ua,8,64,960,1000,500,Other,FAILED,{late},,,82.0,12.0,5248.0",
        ],
        "trace_seren.csv": [
            f"{ids},type,state,{times},{sums}",
            f"1,ub,0,8,8,Other,PREEMPTED,{waited},8,10,64",
            f"2,ub,0,0,8,CPU,NODE_FAIL,{at_once},18,0,0",
            f"3,ub,0,1,8,Eval,TIMEOUT,{waited},7,10,7",
        ],
    }
    folder.mkdir(parents=True)
    for name, lines in rows.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    with raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse") as connection:
        jobs = connection.execute(
            "select job_id, wait_s, run_s, gpu_h * 3600, duration_rule from acme.job_v1 order by job_id"
        ).fetchall()
        assert jobs == [
            ("1", 10, 8, 64, "end - start"),
            ("2", 0, 18, 0, "both"),
            ("3", 10, 8, 8, "neither"),
            ("dlc1", 10, 8, 512, "end - submit"),
            ("dlc2", 12, 70, 4_480, "end - submit"),
        ]
        unified = connection.execute(
            "select job_id, submit_s, end_s, status from unified.jobs_v1 order by job_id"
        ).fetchall()
    start = pd.Timestamp("2023-05-17T11:00:58Z").timestamp()
    assert unified == [
        ("1", start, start + 18, "failed"),
        ("2", start, start + 18, "failed"),
        ("3", start, start + 18, "failed"),
        ("dlc1", start, start + 18, "completed"),
        ("dlc2", start + 1_664, start + 1_746, "failed"),
    ]
