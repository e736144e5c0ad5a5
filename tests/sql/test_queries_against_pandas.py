"""Every named query against the same answer computed by pandas from the raw files."""

from pathlib import Path

import acme_in_pandas
import duckdb
import itp_in_pandas
import openb_in_pandas
import pai_in_pandas
import pandas as pd
import pytest
import raw_frames
import unified_in_pandas
import zeus_in_pandas


def with_total(groups: pd.DataFrame, total: dict[str, object]) -> pd.DataFrame:
    return pd.concat([groups.astype(object), pd.DataFrame([total])], ignore_index=True)


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


OF_THE_OTHERS = {
    "openb.capacity_by_model()": (openb_capacity_by_model, ("gpu_node",), ["model"]),
    "openb.capacity_by_model(in_list := 'all_node')": (openb_capacity_by_model, ("all_node",), ["model"]),
    "openb.phases()": (openb_phases, ("default", True), ["pod_phase"]),
    "openb.phases(gpu_only := false)": (openb_phases, ("default", False), ["pod_phase"]),
    "openb.phases(in_variant := 'multigpu50')": (openb_phases, ("multigpu50", True), ["pod_phase"]),
    "openb.request_tiers()": (openb_request_tiers, ("default",), ["gpu_tier"]),
    "openb.request_tiers(in_variant := 'gpushare40')": (openb_request_tiers, ("gpushare40",), ["gpu_tier"]),
    "acme.published_summary()": (acme_published_summary, (), ["cluster"]),
}
ON_REAL_FILES = pai_in_pandas.MACHINE_QUERIES | OF_THE_OTHERS | itp_in_pandas.QUERIES
ON_REAL_FILES |= openb_in_pandas.QUERIES | zeus_in_pandas.QUERIES | unified_in_pandas.QUERIES
WITH_SYNTHETIC_DUMPS = zeus_in_pandas.OTHER_GPU_QUERIES | {
    "acme.states()": (acme_states, ("seren", True), ["state"]),
    "acme.states(on_cluster := 'kalos', gpu_only := false)": (acme_states, ("kalos", False), ["state"]),
    "acme.wait_by_type()": (acme_wait_by_type, ("seren",), ["workload_type"]),
    "acme.wait_by_type(on_cluster := 'kalos')": (acme_wait_by_type, ("kalos",), ["workload_type"]),
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
