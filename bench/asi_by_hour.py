"""Compute the seventeen figures of ASI's publisher with pandas, as the publisher does: hour by hour.

For each hour, the functions read those columns of pods, servers and network that the figures need, and reduce
them to sums and samples. These are combined at the end. Unlike the publisher's script, they do not loop over
rows. `answers` returns the columns and rows of the named queries.
"""

from pathlib import Path

import numpy as np
import pandas as pd

HOUR = ["day", "hour_of_day"]
WEEK = (109, 115)
SINCE = 109
SHORTENED = ("A10", "L20", "H20", "A100", "H800", "XPU-A")
OF_DAY = ("A10", "A100", "H20", "L20", "XPU-A")
IN_SETS = ("A100", "H20", "L20", "XPU-A")
JOB_TYPES = ("training", "online_inference", "offline_inference", "dev")
MODEL_TYPES = ("genai", "rec", "cv", "embedding", "dev")
ON_SERVERS = ("training", "online", "offline", "dev", "offline+online", "offline+training")
SHAPES = ((1, 8), (1, 12), (4, 32), (4, 48), (4, 64), (8, 64), (8, 96), (8, 128))
REASONS = ("fraction of a GPU", "too few GPUs", "too few CPU cores")
SETS = (128, 256)
CORES_PER_SLOT = 12
LEAST_GIBPS = 0.001
PERCENTILES = {"p5": 5, "p25": 25, "median": 50, "p75": 75, "p90": 90, "p95": 95, "p99": 99}
CDF_POINTS = 500
USES = {
    "gpu_pct": "gpu_pct",
    "cpu_pct": "avg_cpu_request_util",
    "memory_pct": "avg_memory_util",
    "gpu_memory_gib": "avg_gpu_mem_gib",
}
POD_COLUMNS = [
    *("workload_id", "server_id", "state_public", "gpu_spec_public", "priority_class", "job_type_public"),
    *("model_type_public", "is_genai_request", "gpu_request", "gpu_mem_request", "cpu_request_cores"),
    *("used_gpu_hours", "avg_gpu_sm_util", "avg_gpu_mem_gib", "avg_cpu_request_util", "avg_memory_util"),
    "ready_status",
]
COLUMNS_AFTER_THE_WEEK = [
    *("gpu_spec_public", "priority_class", "job_type_public", "gpu_mem_request", "used_gpu_hours")
]
REQUESTS = ["gpu_request", "gpu_mem_request", "cpu_request_cores", "used_gpu_hours"]

Parts = dict[str, list[pd.DataFrame]]
Answers = dict[str, pd.DataFrame]


def answers(raw: Path) -> Answers:
    """Return the answer of each call of a named query, such as `asi.network_cdf(direction := 'sent')`."""
    parts: Parts = {}

    def keep(name: str, frame: pd.DataFrame, day: int, hour: int) -> None:
        parts.setdefault(name, []).append(frame.assign(day=day, hour_of_day=hour))

    for day, hour, path in _hourly_files(raw, "pod"):
        in_week = WEEK[0] <= day <= WEEK[1]
        pods = pd.read_parquet(path, columns=POD_COLUMNS if in_week else COLUMNS_AFTER_THE_WEEK)
        present = [column for column in REQUESTS if column in pods]
        pods[present] = pods[present].fillna(0.0)
        for name, frame in _reduce_all_pods(pods, day).items():
            keep(name, frame, day, hour)
        servers = pd.read_parquet(_path_of_table(path, "server"))
        servers = servers[servers["gpu_count"] > 0]
        servers["shown_model"] = _shorten_models(servers["gpu_spec_public"])
        keep("inventory", servers[["server_id", "shown_model", "gpu_count"]], day, hour)
        if not in_week:
            continue
        pods["shown_model"] = _shorten_models(pods["gpu_spec_public"])
        on_gpus = pods[pods["gpu_request"] > 0]
        for name, frame in {
            **_reduce_gpu_pods(on_gpus, hour),
            **_reduce_servers(pods, servers, hour),
        }.items():
            keep(name, frame, day, hour)
        network = pd.read_parquet(_path_of_table(path, "network"))
        keep("network", _reduce_network(on_gpus, servers, network), day, hour)
    joined = {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items()}
    spans = pd.read_parquet(
        raw / "asi_opensource_job_execution_summary",
        columns=["job_type_public", "model_type_public", "gpu_request", "duration_hours"],
    )
    found = {**_answer_classes(joined), **_answer_servers(joined), **_answer_samples(joined, spans)}
    return {f"asi.{call}": frame for call, frame in found.items()}


def _hourly_files(raw: Path, table: str) -> list[tuple[int, int, Path]]:
    """Return day, hour and path of each hourly file of a table, sorted."""
    found = []
    for path in (raw / f"asi_opensource_{table}_hourly").glob("day=*/hour=*/*.parquet"):
        day, hour = (int(part.partition("=")[2]) for part in path.parts[-3:-1])
        found.append((day, hour, path))
    return sorted(found)


def _path_of_table(path: Path, table: str) -> Path:
    return Path(str(path).replace("asi_opensource_pod_hourly", f"asi_opensource_{table}_hourly"))


def _shorten_models(models: pd.Series) -> pd.Series:
    names = {model: model.split("-")[0] for model in models.unique()}
    return models.map({model: name if name in SHORTENED else model for model, name in names.items()})


# Reduce the rows of one hour.


def _reduce_all_pods(pods: pd.DataFrame, day: int) -> dict[str, pd.DataFrame]:
    pods = pods[pods["gpu_mem_request"] > 0]
    typed = pods[pods["job_type_public"].ne("unknown") & pods["job_type_public"].notna()]
    found = {"by_day": _sum(pods[pods["gpu_spec_public"].isin(OF_DAY)], "gpu_spec_public", "priority_class")}
    if day >= SINCE:
        found["by_job_type"] = _sum(typed, "job_type_public", "priority_class")
    return found


def _sum(pods: pd.DataFrame, *by: str) -> pd.DataFrame:
    return pods.groupby(list(by), as_index=False)["used_gpu_hours"].sum()


def _reduce_gpu_pods(pods: pd.DataFrame, hour: int) -> dict[str, pd.DataFrame]:
    """Return sums and samples of the pods with a GPU in one hour."""
    typed = pods[pods["job_type_public"].isin(JOB_TYPES)]
    typed = typed.assign(gpu_pct=typed["avg_gpu_sm_util"] / typed["gpu_request"])
    is_ready = typed["ready_status"].eq(True)
    is_active_hp = typed["priority_class"].eq("HP") & typed["state_public"].ne("Standby")
    with_models = pods[pods["model_type_public"].isin(MODEL_TYPES)]
    in_workload = pods[pods["workload_id"].notna()]
    shown = pods[pods["priority_class"].isin(("HP", "LP")) & pods["shown_model"].isin(SHORTENED)]
    found = {
        "by_model_type": _sum(with_models, "job_type_public", "shown_model", "model_type_public"),
        "by_model": shown.groupby(["shown_model", "priority_class"]).size().reset_index(name="pod_hours"),
        "utilization": typed[is_ready & is_active_hp]
        .groupby("job_type_public", as_index=False)
        .agg(total=("gpu_pct", "sum"), measured=("gpu_pct", "count"), gpus=("gpu_request", "sum")),
        "uses": typed.loc[is_ready, ["job_type_public", *USES.values()]],
        "workloads": in_workload.groupby("workload_id", as_index=False).agg(
            gpus=("gpu_request", "sum"),
            cpus=("cpu_request_cores", "sum"),
            is_genai=("is_genai_request", "any"),
        ),
    }
    if hour % 2 == 0:
        ratio = np.ceil(typed["cpu_request_cores"] / np.ceil(typed["gpu_request"]))
        found["ratios"] = pd.DataFrame({"job_type_public": typed["job_type_public"], "cpus_per_gpu": ratio})
        gpus = pods.loc[pods["priority_class"] == "HP", "gpu_request"]
        shares = {"pods_pct": (gpus < 1).mean(), "gpus_pct": gpus[gpus < 1].sum() / gpus.sum()}
        found["fractions"] = 100 * pd.DataFrame([shares])
    return found


def _reduce_servers(pods: pd.DataFrame, servers: pd.DataFrame, hour: int) -> dict[str, pd.DataFrame]:
    """Return the sums for the figures about servers in one hour; pods are summed per server first."""
    is_hp, is_lp = pods["priority_class"] == "HP", pods["priority_class"] == "LP"
    is_standby, held = pods["state_public"] == "Standby", pods["used_gpu_hours"]
    held = held.where(pods["gpu_request"] > 0, 0.0)
    columns = {
        "hp": held.where(is_hp & ~is_standby, 0.0),
        "standby": held.where(is_hp & is_standby, 0.0),
        "lp": held.where(is_lp, 0.0),
        "active": held.where((is_hp | is_lp) & ~is_standby, 0.0),
        "hp_cpus": pods["cpu_request_cores"].where(is_hp, 0.0),
        "hp_gpus": pods["gpu_request"].where(is_hp, 0.0),
        "hp_pods": is_hp.astype(int),
    }
    sums = pd.DataFrame(columns).groupby(pods["server_id"]).sum()
    joined = servers.join(sums, on="server_id")
    joined[list(columns)] = joined[list(columns)].fillna(0.0)
    gpus, cpus = joined["gpu_count"], joined["cpu_capacity_cores"]
    unused = (joined["standby"] - joined["lp"]).clip(lower=0)
    ratio = (joined["lp"] / joined["standby"]).where(joined["standby"] > 0)
    found = {
        "standby": pd.DataFrame(
            [{"held": joined["standby"].sum(), "unused": unused.sum(), "ratio": ratio.mean()}]
        )
    }
    if hour % 2 == 0 or hour == 23:
        ratios = {
            "hp": ((joined["hp"] + unused) / gpus).round(6),
            "all": ((np.minimum(joined["active"], gpus) + unused) / gpus).round(6),
            "servers": 1,
        }
        models = pd.DataFrame(ratios).groupby(joined["shown_model"])
        found["allocation"] = models.agg({"hp": "mean", "all": "mean", "servers": "sum"}).reset_index()
    if hour % 2 == 0:
        counts = gpus != 16
        idle = (gpus - (joined["hp"] + unused)).clip(lower=0)[counts]
        found["idle"] = _sum_unusable(idle, (cpus - joined["hp_cpus"]).clip(lower=0)[counts])
    if hour == 10:
        is_usable = joined["hp_pods"].gt(0) & joined["asw_id"].notna() & joined["shown_model"].isin(IN_SETS)
        slots = np.minimum(
            (gpus - np.floor(joined["hp_gpus"])).clip(lower=0),
            np.floor((cpus - joined["hp_cpus"]) / CORES_PER_SLOT).clip(lower=0),
        )
        found["slots"] = joined.assign(slots=slots).loc[
            is_usable, ["cluster_id", "asw_id", "shown_model", "slots"]
        ]
    return found


def _sum_unusable(idle: pd.Series, idle_cpus: pd.Series) -> pd.DataFrame:
    """Return the idle GPUs that jobs of each shape cannot use, by reason, and all idle GPUs."""
    whole = np.floor(idle)
    rows = []
    for number, (gpus, cpus) in enumerate(SHAPES):
        has_cpus = idle_cpus >= cpus
        parts = (
            (idle - whole).where(has_cpus & (whole >= gpus), 0),
            whole.where(has_cpus & (whole < gpus), 0),
            idle.clip(upper=gpus).where(~has_cpus, 0),
        )
        rows += [(number, place, part.sum(), idle.sum()) for place, part in enumerate(parts)]
    return pd.DataFrame(rows, columns=["shape", "place", "unusable", "idle"])


def _reduce_network(pods: pd.DataFrame, servers: pd.DataFrame, network: pd.DataFrame) -> pd.DataFrame:
    """Return the traffic of servers with 8 GPUs, and the types of the jobs on each."""
    kinds = pods.loc[pods["job_type_public"].isin(JOB_TYPES), ["server_id", "job_type_public"]]
    kinds = kinds.drop_duplicates().sort_values("job_type_public")
    names = kinds["job_type_public"].str.removesuffix("_inference").groupby(kinds["server_id"]).agg("+".join)
    of_eight = servers.loc[servers["gpu_count"] == 8, ["server_id"]]
    joined = of_eight.merge(network, on="server_id").join(names.rename("job_types"), on="server_id")
    return joined.loc[joined["job_types"].isin(ON_SERVERS), ["job_types", "rx_gibps_avg", "tx_gibps_avg"]]


# Combine the hours to the answers of the queries.


def _answer_classes(parts: dict[str, pd.DataFrame]) -> Answers:
    by_type = parts["by_job_type"]
    by_day = parts["by_day"].groupby(["day", "gpu_spec_public", "priority_class"])["used_gpu_hours"].sum()
    days = by_day.unstack(fill_value=0.0)
    found = {
        "gpu_time_by_job_type": _shares(by_type.assign(priority="all"), "priority", "job_type_public"),
        "gpu_time_by_job_type(by_priority := true)": _shares(
            by_type[by_type["priority_class"].isin(("HP", "LP"))], "priority_class", "job_type_public"
        ),
        "gpu_time_by_day": days.assign(all=days.sum(axis=1)).reindex(columns=["HP", "LP", "all"]),
    }
    for column, classes, call in (
        ("job_type_public", JOB_TYPES, "gpu_time_by_model_type"),
        ("shown_model", SHORTENED, "gpu_time_by_model_type(per := 'gpu_model')"),
    ):
        rows = parts["by_model_type"]
        found[call] = _shares(rows[rows[column].isin(classes)], column, "model_type_public")
    pods = parts["by_model"].groupby(["shown_model", "priority_class"])["pod_hours"].sum().reset_index()
    pods["pct"] = 100 * pods["pod_hours"] / pods["pod_hours"].sum()
    used = parts["utilization"].sort_values([*HOUR, "job_type_public"])
    found["utilization_by_hour"] = pd.DataFrame(
        {
            **{name: used[name] for name in HOUR},
            "hour": 24 * used["day"] + used["hour_of_day"],
            "job_type": used["job_type_public"],
            "mean": used["total"] / used["measured"],
            "measured": used["measured"],
            "gpus": used["gpus"],
        }
    )
    found["fractional_requests"] = pd.DataFrame(
        [{"hours": len(parts["fractions"]), **parts["fractions"][["pods_pct", "gpus_pct"]].mean()}]
    )
    return {
        **{call: frame.reset_index() if frame.index.names[0] else frame for call, frame in found.items()},
        "pods_by_model": pods,
    }


def _shares(rows: pd.DataFrame, of: str, by: str) -> pd.DataFrame:
    sums = _sum(rows, of, by)
    return sums.assign(pct=100 * sums["used_gpu_hours"] / sums.groupby(of)["used_gpu_hours"].transform("sum"))


def _answer_servers(parts: dict[str, pd.DataFrame]) -> Answers:
    last = parts["inventory"].drop_duplicates(["server_id", "shown_model"], keep="last")
    models = last.groupby("shown_model")["gpu_count"].agg(["size", "sum"]).reset_index()
    ratios = parts["allocation"].groupby("shown_model")
    allocation = pd.DataFrame(
        {"servers": ratios["servers"].sum(), **{name: 100 * ratios[name].mean() for name in ("hp", "all")}}
    )
    idle = parts["idle"].groupby(["shape", "place"], as_index=False)[["unusable", "idle"]].mean()
    shapes = [SHAPES[number] for number in idle["shape"]]
    standby = parts["standby"]
    return {
        "gpus_by_model": models.assign(pct=100 * models["sum"] / models["sum"].sum()),
        "allocation_by_model": allocation.reset_index(),
        "idle_fragmentation": pd.DataFrame(
            {
                "shape": [f"{gpus} / {cpus}" for gpus, cpus in shapes],
                "gpus": [gpus for gpus, _ in shapes],
                "cpus": [cpus for _, cpus in shapes],
                "reason": [REASONS[place] for place in idle["place"]],
                "unusable": idle["unusable"],
                "pct": 100 * idle["unusable"] / idle["idle"],
            }
        ),
        "standby_by_hour": standby[HOUR]
        .assign(hour=24 * standby["day"] + standby["hour_of_day"])
        .join(standby[["held", "unused", "ratio"]]),
        "gpu_sets": _sets(parts["slots"]),
    }


def _sets(slots: pd.DataFrame) -> pd.DataFrame:
    days = slots["day"].nunique()
    rows = []
    for model in (*IN_SETS, "any of the four"):
        of_model = slots if model == "any of the four" else slots[slots["shown_model"] == model]
        for size in SETS:
            for column, name in (("cluster_id", "cluster"), ("asw_id", "switch")):
                free = of_model.groupby(["day", column])["slots"].sum()
                if len(free):
                    rows.append((model, size, name, free.sum() / days, (free // size).sum() / days))
    return pd.DataFrame(rows)


def _answer_samples(parts: dict[str, pd.DataFrame], spans: pd.DataFrame) -> Answers:
    network, uses = parts["network"], parts["uses"]
    found: Answers = {"cpus_per_gpu_cdf": _cdf(parts["ratios"], "job_type_public", "cpus_per_gpu")}
    directions = []
    for column, direction, call in (
        ("rx_gibps_avg", "received", "network_cdf"),
        ("tx_gibps_avg", "sent", "network_cdf(direction := 'sent')"),
    ):
        counted = network[network[column] > LEAST_GIBPS]
        found[call] = _cdf(counted, "job_types", column)
        directions.append(_box(counted, "job_types", column).assign(direction=direction))
    box = pd.concat(directions, ignore_index=True)
    found["network_by_job_type"] = box[["direction", *box.columns.drop("direction")]]
    for quantity, column in USES.items():
        call = "utilization_cdf" if quantity == "gpu_pct" else f"utilization_cdf(quantity := '{quantity}')"
        factor = 100 if column in ("avg_cpu_request_util", "avg_memory_util") else 1
        used = uses.assign(value=factor * uses[column])
        found[call] = _cdf(used, "job_type_public", "value", is_rounded=True)
    spans = spans[(spans["gpu_request"] > 0) & (spans["duration_hours"] >= 0)]
    spans = spans.assign(run_s=3600 * spans["duration_hours"])
    for column, classes, call in (
        ("job_type_public", JOB_TYPES, "run_by_type"),
        ("model_type_public", MODEL_TYPES, "run_by_type(per := 'model_type')"),
    ):
        found[call] = _box(spans[spans[column].isin(classes)], column, "run_s")
    found["workload_peaks"] = _peaks(parts["workloads"])
    return found


def _peaks(rows: pd.DataFrame) -> pd.DataFrame:
    # The sums are rounded before the sort, because sums of fractions differ in their last digits.
    rows = rows.assign(rounded=rows["gpus"].round(6))
    is_genai = rows.groupby("workload_id")["is_genai"].any()
    rows = rows.sort_values(["rounded", *HOUR], ascending=[False, True, True]).drop_duplicates("workload_id")
    kind = rows["workload_id"].map(is_genai).map({True: "genai", False: "other"})
    boxes = [_box(rows.assign(kind=kind), "kind", column) for column in ("gpus", "cpus")]
    for box, resource in zip(boxes, ("GPUs", "CPU cores"), strict=True):
        box.insert(0, "resource", resource)
    return pd.concat(boxes, ignore_index=True)


def _box(rows: pd.DataFrame, by: str, column: str) -> pd.DataFrame:
    found = []
    for name, values in rows.groupby(by)[column]:
        at = np.percentile(values, list(PERCENTILES.values()))
        found.append({"class": name, "count": len(values), **dict(zip(PERCENTILES, at, strict=True))})
    return pd.DataFrame(found)


def _round_up(values: np.ndarray) -> np.ndarray:
    """Round up to three significant digits, but not to tens."""
    digits = np.clip(2 - np.floor(np.log10(np.abs(np.where(values == 0, 1, values)))), 0, None)
    steps = 10**digits
    whole = np.floor(values * steps)
    return np.where(whole / steps >= values, whole, whole + 1) / steps


def _cdf(rows: pd.DataFrame, by: str, column: str, is_rounded: bool = False) -> pd.DataFrame:
    """Return about `CDF_POINTS` points of each group's cumulative distribution: value and percentile."""
    found = []
    for name, values in rows.groupby(by)[column]:
        ordered = np.sort(values.dropna().to_numpy(float))
        at = _round_up(ordered) if is_rounded else ordered
        percentile = 100 * np.searchsorted(ordered, at, side="right") / len(ordered)
        points = np.floor(np.round(CDF_POINTS / 100 * percentile, 6))
        _, first = np.unique(points, return_index=True)
        found.append(pd.DataFrame({by: name, "value": at[first], "percentile": percentile[first]}))
    return pd.concat(found, ignore_index=True)
