"""Every named query against the same answer computed by pandas from the raw files."""

from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import duckdb
import pandas as pd
import pytest

SPEC = spec_from_file_location("raw_frames", Path(__file__).parents[1] / "raw_frames.py")
raw_frames = module_from_spec(SPEC)
SPEC.loader.exec_module(raw_frames)
SPEC = spec_from_file_location("acme_in_pandas", Path(__file__).parents[1] / "acme_in_pandas.py")
acme_in_pandas = module_from_spec(SPEC)
SPEC.loader.exec_module(acme_in_pandas)
SPEC = spec_from_file_location("pai_in_pandas", Path(__file__).parents[1] / "pai_in_pandas.py")
pai_in_pandas = module_from_spec(SPEC)
SPEC.loader.exec_module(pai_in_pandas)
SPEC = spec_from_file_location("openb_in_pandas", Path(__file__).parents[1] / "openb_in_pandas.py")
openb_in_pandas = module_from_spec(SPEC)
SPEC.loader.exec_module(openb_in_pandas)

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


def with_total(groups: pd.DataFrame, total: dict[str, object]) -> pd.DataFrame:
    return pd.concat([groups.astype(object), pd.DataFrame([total])], ignore_index=True)


def itp_gpu_hours(raw: Path, min_gpus: int) -> pd.DataFrame:
    jobs = raw_frames.itp_job(raw)
    jobs = jobs[jobs["requested_gpus"] >= min_gpus]
    columns = {
        "jobs": ("job_id", "size"),
        "gpu_h": ("gpu_h", "sum"),
        "mean_gpus": ("requested_gpus", "mean"),
        "max_gpus": ("requested_gpus", "max"),
        "median_run_s": ("run_s", "median"),
    }
    clusters = jobs.groupby("cluster").agg(**columns).reset_index()
    everything = jobs.assign(cluster="all").groupby("cluster").agg(**columns).reset_index()
    return pd.concat([clusters, everything], ignore_index=True)


def itp_deadline_tightness(raw: Path, bin_width: str) -> pd.DataFrame:
    """Bins in whole numbers, so that no job on the edge of a bin is lost to rounding."""
    jobs = raw_frames.itp_job(raw)
    jobs = jobs[jobs["deadline_s"].notna()]
    width = Fraction(bin_width)
    allowed = (jobs["deadline_s"] - jobs["submit_s"]).astype("int64")
    jobs["bin"] = (allowed * width.denominator) // (jobs["run_s"].astype("int64") * width.numerator)
    jobs["feasible"] = (allowed >= jobs["run_s"]).astype(int)
    bins = jobs.groupby("bin").agg(
        jobs=("bin", "size"), feasible_jobs=("feasible", "sum"), gpu_h=("gpu_h", "sum")
    )
    bins.insert(0, "tightness_from", [float(index * width) for index in bins.index])
    return bins.reset_index(drop=True)


def openb_capacity_by_model(raw: Path, in_list: str) -> pd.DataFrame:
    capacity = raw_frames.openb_capacity(raw)
    models = capacity[capacity["node_list"] == in_list].drop(columns="node_list")
    models["model"] = models["model"].fillna("no GPU")
    total = models.drop(columns="model").sum().to_dict()
    return with_total(models, {"model": "all", **total})


def openb_pods_of(raw: Path, in_variant: str, gpu_only: bool) -> pd.DataFrame:
    pods = raw_frames.openb_pod_lifecycle(raw)
    pods = pods[pods["variant"] == in_variant]
    return pods[pods["requested_gpu_milli"] > 0] if gpu_only else pods


def openb_phases(raw: Path, in_variant: str, gpu_only: bool) -> pd.DataFrame:
    pods = openb_pods_of(raw, in_variant, gpu_only)
    phases = pods.groupby("pod_phase", dropna=False).agg(
        pods=("name", "size"),
        requested_gpus=("requested_gpus", "sum"),
        median_wait_s=("wait_s", "median"),
        median_run_s=("run_s", "median"),
    )
    phases.insert(1, "pods_pct", 100 * phases["pods"] / len(pods))
    return phases.reset_index()


def openb_request_tiers(raw: Path, in_variant: str) -> pd.DataFrame:
    pods = openb_pods_of(raw, in_variant, True)
    tiers = pods.groupby("gpu_tier").agg(
        pods=("name", "size"),
        requested_gpus=("requested_gpus", "sum"),
        mean_residual_gpu_milli=("residual_gpu_milli", "mean"),
    )
    tiers.insert(1, "pods_pct", 100 * tiers["pods"] / len(pods))
    return tiers.reset_index()


def zeus_cheapest(raw: Path, on_gpu: str, eta: float) -> pd.DataFrame:
    max_power = raw_frames.zeus_power(raw).groupby("gpu")["power_limit"].max()[on_gpu]
    rows = raw_frames.zeus_energy_to_accuracy(raw)
    rows = rows[(rows["gpu"] == on_gpu) & (rows["runs"] == rows["runs_reached"])]
    cheapest = []
    for dataset, reached in rows.groupby("dataset"):
        targets = reached["target_metric"]
        hardest = reached[targets == (targets.min() if dataset == "librispeech" else targets.max())]
        energy, time = hardest["energy_to_accuracy_j"], hardest["time_to_accuracy_s"]
        cost = eta * energy + (1 - eta) * max_power * time
        cheapest.append(hardest.assign(cost_j=cost).loc[cost.idxmin()])
    columns = ["dataset", "network", "target_metric", "batch_size", "power_limit_w"]
    return pd.DataFrame(cheapest)[[*columns, "time_to_accuracy_s", "energy_to_accuracy_j", "cost_j"]]


def zeus_train_coverage(raw: Path, max_batch_size: int) -> pd.DataFrame:
    train = raw_frames.zeus_train(raw)
    train = train[train["batch_size"] <= max_batch_size]
    columns = {
        "train_rows": ("run", "size"),
        "unreached_rows": ("target_epoch", lambda epochs: epochs.isna().sum()),
        "batch_sizes": ("batch_size", "nunique"),
        "targets": ("target_metric", "nunique"),
    }
    datasets = train.groupby("dataset").agg(**columns).reset_index()
    return with_total(datasets, {"dataset": "all", **datasets.drop(columns="dataset").sum().to_dict()})


def acme_states(raw: Path, on_cluster: str, gpu_only: bool) -> pd.DataFrame:
    jobs = raw_frames.acme_job(raw)
    jobs = jobs[(jobs["cluster"] == on_cluster) & (jobs["requested_gpus"] >= int(gpu_only))]
    groups = jobs.groupby("state")
    counts, hours = groups.size(), groups["gpu_h"].sum(min_count=1)
    states = {"jobs": counts, "jobs_pct": 100 * counts / len(jobs)}
    return pd.DataFrame({**states, "gpu_h": hours, "gpu_h_pct": 100 * hours / hours.sum()}).reset_index()


def acme_wait_by_type(raw: Path, on_cluster: str) -> pd.DataFrame:
    jobs = raw_frames.acme_job(raw)
    groups = jobs[(jobs["cluster"] == on_cluster) & (jobs["requested_gpus"] > 0)].groupby("workload_type")
    types = groups.agg(
        jobs=("job_id", "size"),
        mean_wait_s=("wait_s", "mean"),
        median_wait_s=("wait_s", "median"),
        p90_wait_s=("wait_s", lambda waits: waits.quantile(0.9)),
        gpu_h=("gpu_h", "sum"),
    )
    return types.reset_index()


def acme_published_summary(raw: Path) -> pd.DataFrame:
    summary = raw_frames.acme_summary(raw)
    return pd.DataFrame(
        {
            "cluster": summary["id"],
            "jobs": summary["job_num"],
            "gpu_jobs": summary["gpu_job_num"],
            "mean_run_s": summary["avg_run_time_gpu"],
            "median_run_s": summary["med_run_time_gpu"],
            "mean_wait_s": summary["avg_que_time_gpu"],
            "median_wait_s": summary["med_que_time_gpu"],
            "mean_gpus": summary["avg_gpu_num"],
            "max_gpus": summary["max_gpu"],
        }
    )


def unified_numbers(raw: Path, gpu_only: bool) -> pd.DataFrame:
    jobs = raw_frames.unified_jobs(raw)
    numbers = jobs.astype(dict.fromkeys(["run_s", "wait_s", "requested_gpus", "gpu_s"], float))
    return numbers[numbers["requested_gpus"] > 0] if gpu_only else numbers


def unified_traces(raw: Path, gpu_only: bool) -> pd.DataFrame:
    rows = []
    groups = unified_numbers(raw, gpu_only).groupby(["trace", "cluster"], dropna=False)
    for (trace, cluster), jobs in groups:
        known = jobs["status"].isin(["completed", "failed", "cancelled"])
        failed_pct = 100 * (jobs["status"] == "failed").sum() / known.sum() if known.any() else None
        rows.append(
            {
                "trace": trace,
                "cluster": cluster,
                "jobs": len(jobs),
                "gpu_h": jobs["gpu_s"].sum() / 3600,
                "mean_gpus": jobs["requested_gpus"].mean(),
                "median_run_s": jobs["run_s"].median(),
                "median_wait_s": jobs["wait_s"].median(),
                "known_outcome_pct": 100 * known.mean(),
                "failed_pct": failed_pct,
            }
        )
    return pd.DataFrame(rows)


def unified_run_cdf(raw: Path, min_run_s: float) -> pd.DataFrame:
    """Each percentile is a run that occurs: the least that so many percent of the jobs do not exceed."""
    jobs = unified_numbers(raw, True)
    runs = jobs[jobs["run_s"] >= min_run_s].groupby("trace")["run_s"]
    rows = []
    for trace, values in runs:
        ordered = sorted(values)
        for percentile in PERCENTILES:
            rank = -(-percentile * len(ordered) // 100)
            rows.append({"trace": trace, "percentile": percentile, "run_s": ordered[rank - 1]})
    return pd.DataFrame(rows)


COMPUTED_ELSEWHERE = pai_in_pandas.MACHINE_QUERIES | openb_in_pandas.QUERIES
ON_REAL_FILES = COMPUTED_ELSEWHERE | {
    "itp.gpu_hours()": (itp_gpu_hours, (1,), ["cluster"]),
    "itp.gpu_hours(min_gpus := 8)": (itp_gpu_hours, (8,), ["cluster"]),
    "itp.deadline_tightness()": (itp_deadline_tightness, ("0.1",), None),
    "itp.deadline_tightness(bin_width := 0.25)": (itp_deadline_tightness, ("0.25",), None),
    "openb.capacity_by_model()": (openb_capacity_by_model, ("gpu_node",), ["model"]),
    "openb.capacity_by_model(in_list := 'all_node')": (openb_capacity_by_model, ("all_node",), ["model"]),
    "openb.phases()": (openb_phases, ("default", True), ["pod_phase"]),
    "openb.phases(gpu_only := false)": (openb_phases, ("default", False), ["pod_phase"]),
    "openb.phases(in_variant := 'multigpu50')": (openb_phases, ("multigpu50", True), ["pod_phase"]),
    "openb.request_tiers()": (openb_request_tiers, ("default",), ["gpu_tier"]),
    "openb.request_tiers(in_variant := 'gpushare40')": (openb_request_tiers, ("gpushare40",), ["gpu_tier"]),
    "zeus.cheapest()": (zeus_cheapest, ("v100", 0.5), ["dataset"]),
    "zeus.cheapest(on_gpu := 'a40', eta := 1.0)": (zeus_cheapest, ("a40", 1.0), ["dataset"]),
    "zeus.cheapest(eta := 0.0)": (zeus_cheapest, ("v100", 0.0), ["dataset"]),
    "zeus.train_coverage()": (zeus_train_coverage, (1_000_000,), ["dataset"]),
    "zeus.train_coverage(max_batch_size := 64)": (zeus_train_coverage, (64,), ["dataset"]),
    "acme.published_summary()": (acme_published_summary, (), ["cluster"]),
    "unified.traces()": (unified_traces, (True,), ["trace", "cluster"]),
    "unified.traces(gpu_only := false)": (unified_traces, (False,), ["trace", "cluster"]),
    "unified.run_cdf()": (unified_run_cdf, (600,), ["trace", "percentile"]),
    "unified.run_cdf(min_run_s := 0)": (unified_run_cdf, (0,), ["trace", "percentile"]),
}
WITH_SYNTHETIC_DUMPS = {
    "acme.states()": (acme_states, ("seren", True), ["state"]),
    "acme.states(on_cluster := 'kalos', gpu_only := false)": (acme_states, ("kalos", False), ["state"]),
    "acme.wait_by_type()": (acme_wait_by_type, ("seren",), ["workload_type"]),
    "acme.wait_by_type(on_cluster := 'kalos')": (acme_wait_by_type, ("kalos",), ["workload_type"]),
    "zeus.cheapest(on_gpu := 'p100')": (zeus_cheapest, ("p100", 0.5), ["dataset"]),
    "zeus.cheapest(on_gpu := 'rtx6000', eta := 0.9)": (zeus_cheapest, ("rtx6000", 0.9), ["dataset"]),
}
ON_SYNTHETIC_DUMPS = ON_REAL_FILES | WITH_SYNTHETIC_DUMPS | acme_in_pandas.QUERIES | pai_in_pandas.QUERIES
TOTALS_LAST = (
    "itp.gpu_hours()",
    "openb.capacity_by_model()",
    "openb.memory()",
    "pai.machines()",
    "zeus.train_coverage()",
)


def answer(connection: duckdb.DuckDBPyConnection, call: str) -> duckdb.DuckDBPyRelation:
    return connection.sql(f"from {call}")


@pytest.mark.parametrize("call", ON_REAL_FILES)
def test_query_on_real_files(call: str, real: duckdb.DuckDBPyConnection, real_raw: Path) -> None:
    compute, arguments, keys = ON_REAL_FILES[call]
    raw_frames.assert_same_rows(answer(real, call), compute(real_raw, *arguments), keys)


@pytest.mark.parametrize("call", ON_SYNTHETIC_DUMPS)
def test_query_on_synthetic_dumps(call: str, synthetic: duckdb.DuckDBPyConnection, sample_raw: Path) -> None:
    compute, arguments, keys = ON_SYNTHETIC_DUMPS[call]
    expected = compute(sample_raw, *arguments)
    assert len(expected) > 0
    raw_frames.assert_same_rows(answer(synthetic, call), expected, keys)


def test_every_query_is_compared(synthetic: duckdb.DuckDBPyConnection) -> None:
    rows = synthetic.execute("select query_name from catalog.queries").fetchall()
    assert {name for (name,) in rows} == {call.split("(")[0] for call in ON_SYNTHETIC_DUMPS}


@pytest.mark.parametrize("call", TOTALS_LAST)
def test_total_stands_last(call: str, synthetic: duckdb.DuckDBPyConnection) -> None:
    assert answer(synthetic, call).fetchall()[-1][0] == "all"
