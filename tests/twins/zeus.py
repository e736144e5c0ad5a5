"""Zeus's views and named queries, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. Views come first, in the order
of their dependencies, then the named queries, which read the frames of the views and never the database.
"""

import lzma
from math import fsum
from pathlib import Path

import pandas as pd
import raw_frames

WORKLOAD = ["dataset", "network"]
TRAINED = [*WORKLOAD, "optimizer", "batch_size"]
CONFIG = ["gpu", *TRAINED, "power_limit_w"]


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


# Views.

# Target and default batch size of each workload in the publisher's replay script.
DEFAULTS = {
    ("cifar100", "shufflenetv2"): (0.6, 1024),
    ("imagenet", "resnet50"): (0.65, 256),
    ("squad", "bert_base_uncased"): (84.0, 32),
    ("librispeech", "deepspeech2"): (40.0, 192),
    ("movielens-1m", "ncf"): (0.41, 1024),
    ("sentiment140", "bert_base_uncased"): (0.84, 128),
}


def default_config(_: Path) -> pd.DataFrame:
    rows = [(*workload, *default) for workload, default in DEFAULTS.items()]
    return pd.DataFrame(rows, columns=[*WORKLOAD, "target_metric", "default_batch_size"])


def coverage(raw: Path) -> pd.DataFrame:
    """List every trained or measured configuration for every GPU with power measurements."""
    power, train = raw_frames.zeus_power(raw), raw_frames.zeus_train(raw)
    trained = set(train[TRAINED].itertuples(index=False, name=None))
    rows = []
    for gpu, of_gpu in power.groupby("gpu"):
        powered = set(of_gpu[TRAINED].itertuples(index=False, name=None))
        rows += [(gpu, *names, names in trained, names in powered) for names in trained | powered]
    return pd.DataFrame(rows, columns=["gpu", *TRAINED, "in_train", "in_power"])


def config(raw: Path) -> pd.DataFrame:
    power = raw_frames.zeus_power(raw)
    max_power = power.groupby("gpu")["power_limit"].max()
    largest = power.groupby(["gpu", *WORKLOAD, "optimizer"])["batch_size"].max().rename("largest")
    rows = raw_frames.zeus_energy_to_accuracy(raw)
    rows = rows[rows["runs"] == rows["runs_reached"]]
    rows = rows.merge(default_config(raw), on=[*WORKLOAD, "target_metric"], validate="many_to_one")
    rows = rows.merge(largest.reset_index(), on=["gpu", *WORKLOAD, "optimizer"], validate="many_to_one")
    rows["max_power_w"] = rows["gpu"].map(max_power)
    rows["default_batch_size"] = rows[["default_batch_size", "largest"]].min(axis=1)
    rows["is_default_batch"] = rows["batch_size"] == rows["default_batch_size"]
    rows["is_max_power"] = rows["power_limit_w"] == rows["max_power_w"]
    rows["is_baseline"] = rows["is_default_batch"] & rows["is_max_power"]
    measured = ["target_metric", "time_to_accuracy_s", "energy_to_accuracy_j"]
    compared = ["max_power_w", "default_batch_size", "is_default_batch", "is_max_power", "is_baseline"]
    return rows[[*CONFIG, *measured, *compared]]


def pareto(raw: Path) -> pd.DataFrame:
    """A configuration is on the front if it needs less energy than all faster ones, and least at its time."""
    frames = []
    for _, rows in config(raw).groupby(["gpu", *WORKLOAD]):
        least = rows.groupby("time_to_accuracy_s")["energy_to_accuracy_j"].min()
        faster = least.cummin().shift(1, fill_value=float("inf"))
        times, energy = rows["time_to_accuracy_s"], rows["energy_to_accuracy_j"]
        is_least = energy == times.map(least)
        frames.append(rows.assign(is_pareto=is_least & (energy < times.map(faster))))
    return pd.concat(frames, ignore_index=True) if frames else config(raw).assign(is_pareto=False)


SAVING = [
    "gpu",
    *WORKLOAD,
    "baseline_time_s",
    "baseline_energy_j",
    "batch_only_pct",
    "batch_only_batch_size",
    "power_only_pct",
    "power_only_limit_w",
    "joint_pct",
    "joint_batch_size",
    "joint_power_limit_w",
    "best_time_pct",
    "pareto_configs",
    "configs",
]


def saving(raw: Path) -> pd.DataFrame:
    """Without a baseline, the savings are missing and only the numbers of configurations are known."""
    rows = []
    for names, configs in pareto(raw).groupby(["gpu", *WORKLOAD]):
        row = dict(zip(["gpu", *WORKLOAD], names, strict=True))
        row |= {"pareto_configs": int(configs["is_pareto"].sum()), "configs": len(configs)}
        if configs["is_baseline"].any():
            row |= savings_against(configs[configs["is_baseline"]].iloc[0], configs)
        rows.append(row)
    return pd.DataFrame(rows, columns=SAVING)


def savings_against(baseline: pd.Series, configs: pd.DataFrame) -> dict[str, object]:
    by_energy = configs.sort_values(["energy_to_accuracy_j", "batch_size", "power_limit_w"])
    batch_only = by_energy[by_energy["is_max_power"]].iloc[0]
    power_only = by_energy[by_energy["is_default_batch"]].iloc[0]
    joint = by_energy.iloc[0]

    def cut(name: str, least: float) -> float | None:
        return percent(baseline[name] - least, baseline[name])

    return {
        "baseline_time_s": baseline["time_to_accuracy_s"],
        "baseline_energy_j": baseline["energy_to_accuracy_j"],
        "batch_only_pct": cut("energy_to_accuracy_j", batch_only["energy_to_accuracy_j"]),
        "batch_only_batch_size": batch_only["batch_size"],
        "power_only_pct": cut("energy_to_accuracy_j", power_only["energy_to_accuracy_j"]),
        "power_only_limit_w": power_only["power_limit_w"],
        "joint_pct": cut("energy_to_accuracy_j", joint["energy_to_accuracy_j"]),
        "joint_batch_size": joint["batch_size"],
        "joint_power_limit_w": joint["power_limit_w"],
        "best_time_pct": cut("time_to_accuracy_s", configs["time_to_accuracy_s"].min()),
    }


MATCH = ["group_id", "dataset", "jobs", "first_start_s", "last_end_s", "pai_jobs", "pai_group_matches"]


def alibaba_groups(raw: Path) -> pd.DataFrame:
    data = lzma.decompress((raw / "zeus" / "alibaba_groups.csv.xz").read_bytes())
    return raw_frames.with_numbers(raw_frames.read_text_table(data), ["start_time", "end_time"])


def group_match(raw: Path) -> pd.DataFrame:
    if not (raw / "zeus" / "alibaba_groups.csv.xz").exists():
        return pd.DataFrame(columns=MATCH)
    columns = {
        "dataset": ("dataset", "min"),
        "jobs": ("start_time", "size"),
        "first_start_s": ("start_time", "min"),
        "last_end_s": ("end_time", "max"),
    }
    groups = alibaba_groups(raw).groupby("group").agg(**columns).rename_axis("group_id").reset_index()
    is_tagged = any((raw / "pai" / "data").glob("pai_group_tag_table.tar*"))
    tags = raw_frames.pai_table(raw, "pai_group_tag_table")["group"].value_counts() if is_tagged else {}
    groups["pai_jobs"] = [tags.get(group, 0) for group in groups["group_id"]]
    return groups.assign(pai_group_matches=groups["pai_jobs"] > 0)


REACHED = ["runs", "runs_reached", "min_reached_epochs", "median_reached_epochs", "mean_reached_epochs"]
REACHED += ["max_reached_epochs", "cv_reached_epochs"]


def epoch_spread(raw: Path) -> pd.DataFrame:
    """A run that never reached the target has no epoch, so pandas leaves it out."""
    epochs = raw_frames.zeus_train(raw).groupby([*TRAINED, "target_metric"])["target_epoch"]
    spread = epochs.agg(
        runs="size",
        runs_reached="count",
        min_reached_epochs="min",
        median_reached_epochs="median",
        mean_reached_epochs="mean",
        max_reached_epochs="max",
        sample_deviation="std",
    ).reset_index()
    spread["cv_reached_epochs"] = spread["sample_deviation"] / spread["mean_reached_epochs"]
    spread["is_lower_better"] = spread["dataset"] == "librispeech"
    return spread[[*TRAINED, "target_metric", "is_lower_better", *REACHED]]


# Named queries.


def cheapest(raw: Path, on_gpu: str, eta: float) -> pd.DataFrame:
    max_power = raw_frames.zeus_power(raw).groupby("gpu")["power_limit"].max()[on_gpu]
    rows = raw_frames.zeus_energy_to_accuracy(raw)
    rows = rows[(rows["gpu"] == on_gpu) & (rows["runs"] == rows["runs_reached"])]
    least = []
    for dataset, reached in rows.groupby("dataset"):
        targets = reached["target_metric"]
        hardest = reached[targets == (targets.min() if dataset == "librispeech" else targets.max())]
        energy, time = hardest["energy_to_accuracy_j"], hardest["time_to_accuracy_s"]
        cost = eta * energy + (1 - eta) * max_power * time
        least.append(hardest.assign(cost_j=cost).loc[cost.idxmin()])
    columns = ["dataset", "network", "target_metric", "batch_size", "power_limit_w"]
    return pd.DataFrame(least)[[*columns, "time_to_accuracy_s", "energy_to_accuracy_j", "cost_j"]]


def train_coverage(raw: Path, max_batch_size: int, with_total: bool) -> pd.DataFrame:
    train = raw_frames.zeus_train(raw)
    train = train[train["batch_size"] <= max_batch_size]
    columns = {
        "train_rows": ("run", "size"),
        "unreached_rows": ("target_epoch", lambda epochs: epochs.isna().sum()),
        "batch_sizes": ("batch_size", "nunique"),
        "targets": ("target_metric", "nunique"),
    }
    datasets = train.groupby("dataset").agg(**columns).reset_index()
    if not with_total:
        return datasets
    total = {"dataset": "all", **datasets.drop(columns="dataset").sum().to_dict()}
    return pd.concat([datasets.astype(object), pd.DataFrame([total])], ignore_index=True)


def savings(raw: Path, on_gpu: str) -> pd.DataFrame:
    rows = saving(raw)
    return rows[rows["gpu"] == on_gpu].sort_values(WORKLOAD)


OPTIMUM = [*WORKLOAD, "target_metric", "batch_size", "power_limit_w", "time_to_accuracy_s"]
OPTIMUM += ["energy_to_accuracy_j", "cost_j", "baseline_cost_j", "cost_cut_pct"]


def optimum(raw: Path, on_gpu: str, eta: float) -> pd.DataFrame:
    rows = config(raw)
    rows = rows[rows["gpu"] == on_gpu]
    as_if_at_most = rows["max_power_w"] * rows["time_to_accuracy_s"]
    rows = rows.assign(cost_j=eta * rows["energy_to_accuracy_j"] + (1 - eta) * as_if_at_most)
    best = []
    for _, configs in rows.groupby(WORKLOAD):
        baseline = configs.loc[configs["is_baseline"], "cost_j"].min()
        least = configs.sort_values(["cost_j", "batch_size", "power_limit_w"]).iloc[0].to_dict()
        cut = percent(baseline - least["cost_j"], baseline)
        best.append(least | {"baseline_cost_j": baseline, "cost_cut_pct": cut})
    return pd.DataFrame(best, columns=OPTIMUM)


def pareto_front(raw: Path, on_gpu: str, of_dataset: str) -> pd.DataFrame:
    rows = pareto(raw)
    rows = rows[(rows["gpu"] == on_gpu) & (rows["dataset"] == of_dataset)]
    return rows[["batch_size", "power_limit_w", "time_to_accuracy_s", "energy_to_accuracy_j", "is_pareto"]]


def coverage_by_gpu(raw: Path) -> pd.DataFrame:
    rows = coverage(raw)
    counted = pd.DataFrame(
        {
            "gpu": rows["gpu"],
            "power_only": rows["in_power"] & ~rows["in_train"],
            "train_only": rows["in_train"] & ~rows["in_power"],
            "both": rows["in_train"] & rows["in_power"],
        }
    )
    return counted.groupby("gpu").sum().astype(int).reset_index()


def epochs_by_target(raw: Path, of_dataset: str) -> pd.DataFrame:
    train = raw_frames.zeus_train(raw)
    groups = train[train["dataset"] == of_dataset].groupby("target_metric")["target_epoch"]
    return groups.agg(runs="size", runs_reached="count", mean_reached_epochs="mean").reset_index()


def power_over_limit(raw: Path) -> pd.DataFrame:
    power = raw_frames.zeus_power(raw)
    ratios = power["average_power"] / power["power_limit"].where(power["power_limit"] != 0)
    groups = ratios.groupby(power["gpu"])
    over = (power["average_power"] > power["power_limit"]).groupby(power["gpu"]).sum()
    rows = groups.size()
    pct = 100 * over / rows
    columns = {"rows_over": over, "rows": rows, "rows_over_pct": pct, "largest_ratio": groups.max()}
    return pd.DataFrame(columns).reset_index()


def at_default_targets(raw: Path, rows: pd.DataFrame) -> pd.DataFrame:
    targets = default_config(raw)[[*WORKLOAD, "target_metric"]]
    return rows.merge(targets, on=[*WORKLOAD, "target_metric"], validate="many_to_one")


def at_largest_limit(raw: Path, on_gpu: str) -> pd.DataFrame:
    power = raw_frames.zeus_power(raw)
    power = power[power["gpu"] == on_gpu]
    return power[power["power_limit"] == power["power_limit"].max()]


OF_RUNS = {"min_": "min", "median_": "median", "": "mean", "max_": "max"}


def run_spread(raw: Path, on_gpu: str, every_target: bool) -> pd.DataFrame:
    rows = epoch_spread(raw).drop(columns="is_lower_better")
    rows = rows if every_target else at_default_targets(raw, rows)
    one_epoch = at_largest_limit(raw, on_gpu)[[*TRAINED, "time_per_epoch", "average_power"]]
    rows = rows.merge(one_epoch, on=TRAINED, how="left", validate="many_to_one")
    seconds = rows["time_per_epoch"].where(rows["runs"] == rows["runs_reached"])
    for prefix, of_runs in OF_RUNS.items():
        rows[f"{prefix}time_to_accuracy_s"] = rows[f"{of_runs}_reached_epochs"] * seconds
    for prefix in OF_RUNS:
        rows[f"{prefix}energy_to_accuracy_j"] = rows[f"{prefix}time_to_accuracy_s"] * rows["average_power"]
    return rows.drop(columns=["time_per_epoch", "average_power"])


def epochs_by_batch_size(raw: Path, of_dataset: str, to_target: float | None) -> pd.DataFrame:
    rows = epoch_spread(raw)
    rows = rows[rows["dataset"] == of_dataset]
    is_asked = rows["target_metric"] == to_target
    rows = at_default_targets(raw, rows) if to_target is None else rows[is_asked]
    rows = rows.assign(runs_unreached=rows["runs"] - rows["runs_reached"])
    counted = ["runs", "runs_reached", "runs_unreached"]
    return rows[["network", "optimizer", "batch_size", "target_metric", *counted, *REACHED[2:]]]


LIMIT = ["network", "optimizer", "batch_size", "power_limit_w"]
LIMIT_COSTS = ["time_per_epoch_s", "average_power_w", "energy_per_epoch_j", "cost_per_epoch_j"]
LIMIT_COSTS += ["energy_saved_pct", "time_added_pct", "is_cheapest"]


def power_by_limit(
    raw: Path, on_gpu: str, of_dataset: str, at_batch_size: int | None, eta: float
) -> pd.DataFrame:
    power = raw_frames.zeus_power(raw)
    power = power[power["gpu"] == on_gpu]
    max_power = power["power_limit"].max()
    rows = [
        row
        for (network, _), configs in power[power["dataset"] == of_dataset].groupby(["network", "optimizer"])
        for row in limits_of(
            configs[configs["batch_size"] == (at_batch_size or default_batch(configs, of_dataset, network))],
            max_power,
            eta,
        )
    ]
    return pd.DataFrame(rows, columns=[*LIMIT, *LIMIT_COSTS])


def default_batch(configs: pd.DataFrame, dataset: str, network: str) -> int:
    _, batch_size = DEFAULTS[(dataset, network)]
    return min(batch_size, configs["batch_size"].max())


def limits_of(configs: pd.DataFrame, max_power: int, eta: float) -> list[tuple[object, ...]]:
    """Return rows for one batch size of one network and optimizer, one for each measured power limit."""
    configs = configs.sort_values("power_limit").reset_index(drop=True)
    energy = configs["time_per_epoch"] * configs["average_power"]
    costs = eta * energy + (1 - eta) * max_power * configs["time_per_epoch"]
    at_most = configs["power_limit"] == max_power
    full_time = configs.loc[at_most, "time_per_epoch"].min()
    full_energy = energy[at_most].min()
    return [
        (
            *(one.network, one.optimizer, one.batch_size, one.power_limit),
            *(one.time_per_epoch, one.average_power, energy[number], costs[number]),
            percent(full_energy - energy[number], full_energy),
            percent(one.time_per_epoch - full_time, full_time),
            number == costs.idxmin(),
        )
        for number, one in enumerate(configs.itertuples())
    ]


MAY_CHOOSE = {
    "default": "is_baseline",
    "batch_only": "is_max_power",
    "power_only": "is_default_batch",
    "oracle": "is_any",
}
J_PER_KWH = 3_600_000
HOUR_S = 3_600


def schedule(raw: Path) -> pd.DataFrame:
    if not (raw / "zeus" / "alibaba_groups.csv.xz").exists():
        return pd.DataFrame(columns=["group", "dataset", "runtime_ratio"])
    return raw_frames.with_numbers(alibaba_groups(raw), ["runtime_ratio"])


def chosen(configs: pd.DataFrame, may_choose: str) -> dict[str, object]:
    """Return the configuration of least cost, with None values if no configuration is allowed."""
    allowed = configs[configs[MAY_CHOOSE[may_choose]]]
    ordered = allowed.sort_values(["cost_j", "batch_size", "power_limit_w"])
    names = ["batch_size", "power_limit_w", "time_to_accuracy_s", "energy_to_accuracy_j"]
    return ordered[names].iloc[0].to_dict() if len(ordered) else dict.fromkeys(names)


REPLAYED = [f"{who}_energy_kwh" for who in ("default", "policy", "oracle")]
REPLAYED += [f"{who}_time_h" for who in ("default", "policy", "oracle")]
REPLAY = [*WORKLOAD, "policy_batch_size", "policy_power_limit_w", "oracle_batch_size"]
REPLAY += ["oracle_power_limit_w", "baseline_energy_j", "policy_energy_j", "oracle_energy_j"]
REPLAY += ["recurring_groups", "jobs", "replayed_jobs", *REPLAYED, "policy_saved_pct", "oracle_saved_pct"]


def recurring_replay(raw: Path, on_gpu: str, policy: str, eta: float, with_total: bool) -> pd.DataFrame:
    jobs, configs = schedule(raw), config(raw)
    configs = configs[configs["gpu"] == on_gpu].assign(is_any=True)
    as_if_at_most = configs["max_power_w"] * configs["time_to_accuracy_s"]
    configs["cost_j"] = eta * configs["energy_to_accuracy_j"] + (1 - eta) * as_if_at_most
    rows = []
    for dataset, network in DEFAULTS:
        is_of_workload = (configs["dataset"] == dataset) & (configs["network"] == network)
        mine = configs[is_of_workload]
        by = {"default": "default", "policy": policy, "oracle": "oracle"}
        picks = {who: chosen(mine, may_choose) for who, may_choose in by.items()}
        if picks["default"]["energy_to_accuracy_j"] is None:
            picks = dict.fromkeys(by, picks["default"] | {"batch_size": None, "power_limit_w": None})
        rows.append(
            {"dataset": dataset, "network": network} | replayed(picks, jobs[jobs["dataset"] == dataset])
        )
    rows += [all_replayed(rows)] if with_total else []
    return pd.DataFrame([row | saved(row) for row in rows], columns=REPLAY)


def replayed(picks: dict[str, dict[str, object]], jobs: pd.DataFrame) -> dict[str, object]:
    has_default = picks["default"]["energy_to_accuracy_j"] is not None
    ratios = jobs["runtime_ratio"].dropna() if has_default else jobs["runtime_ratio"].head(0)
    row = {
        "policy_batch_size": picks["policy"]["batch_size"],
        "policy_power_limit_w": picks["policy"]["power_limit_w"],
        "oracle_batch_size": picks["oracle"]["batch_size"],
        "oracle_power_limit_w": picks["oracle"]["power_limit_w"],
        "baseline_energy_j": picks["default"]["energy_to_accuracy_j"],
        "policy_energy_j": picks["policy"]["energy_to_accuracy_j"],
        "oracle_energy_j": picks["oracle"]["energy_to_accuracy_j"],
        "recurring_groups": jobs["group"].nunique(),
        "jobs": len(jobs),
        "replayed_jobs": len(ratios),
    }
    if len(ratios):
        for who, pick in picks.items():
            row[f"{who}_energy_kwh"] = pick["energy_to_accuracy_j"] * fsum(ratios) / J_PER_KWH
            row[f"{who}_time_h"] = pick["time_to_accuracy_s"] * fsum(ratios) / HOUR_S
    return row


def all_replayed(rows: list[dict[str, object]]) -> dict[str, object]:
    counted = ("recurring_groups", "jobs", "replayed_jobs")
    row = {"dataset": "all"} | {name: sum(one[name] for one in rows) for name in counted}
    with_jobs = [one for one in rows if one["replayed_jobs"]]
    return row | {name: fsum(one[name] for one in with_jobs) for name in REPLAYED if with_jobs}


def saved(row: dict[str, object]) -> dict[str, object]:
    full = row.get("default_energy_kwh")
    if full is None:
        return {}
    return {
        f"{who}_saved_pct": percent(full - row[f"{who}_energy_kwh"], full) for who in ("policy", "oracle")
    }


# Function and key columns of each name. Rows without key columns are compared in order.

VIEWS = {
    "zeus.energy_to_accuracy_v1": (raw_frames.zeus_energy_to_accuracy, [*CONFIG, "target_metric"]),
    "zeus.default_config_v1": (default_config, WORKLOAD),
    "zeus.coverage_v1": (coverage, ["gpu", *TRAINED]),
    "zeus.config_v1": (config, CONFIG),
    "zeus.pareto_v1": (pareto, CONFIG),
    "zeus.saving_v1": (saving, ["gpu", *WORKLOAD]),
    "zeus.group_match_v1": (group_match, ["group_id"]),
    "zeus.epoch_spread_v1": (epoch_spread, [*TRAINED, "target_metric"]),
}

AT = ["batch_size", "power_limit_w"]
SEEDS = [*TRAINED, "target_metric"]
BATCH = ["network", "optimizer", "batch_size"]
QUERIES_OF_GPUS_AT_HAND = {
    "zeus.cheapest()": (cheapest, ("v100", 0.5), ["dataset"]),
    "zeus.cheapest(on_gpu := 'a40', eta := 1.0)": (cheapest, ("a40", 1.0), ["dataset"]),
    "zeus.cheapest(eta := 0.0)": (cheapest, ("v100", 0.0), ["dataset"]),
    "zeus.train_coverage()": (train_coverage, (1_000_000, False), ["dataset"]),
    "zeus.train_coverage(with_total := true)": (train_coverage, (1_000_000, True), ["dataset"]),
    "zeus.train_coverage(max_batch_size := 64, with_total := true)": (
        train_coverage,
        (64, True),
        ["dataset"],
    ),
    "zeus.savings()": (savings, ("v100",), None),
    "zeus.savings(on_gpu := 'a40')": (savings, ("a40",), None),
    "zeus.optimum()": (optimum, ("v100", 0.5), WORKLOAD),
    "zeus.optimum(on_gpu := 'a40')": (optimum, ("a40", 0.5), WORKLOAD),
    "zeus.optimum(eta := 0)": (optimum, ("v100", 0), WORKLOAD),
    "zeus.optimum(eta := 0.75)": (optimum, ("v100", 0.75), WORKLOAD),
    "zeus.optimum(eta := 1)": (optimum, ("v100", 1), WORKLOAD),
    "zeus.pareto_front()": (pareto_front, ("v100", "librispeech"), AT),
    "zeus.pareto_front(of_dataset := 'squad')": (pareto_front, ("v100", "squad"), AT),
    "zeus.pareto_front(on_gpu := 'a40', of_dataset := 'cifar100')": (pareto_front, ("a40", "cifar100"), AT),
    "zeus.coverage_by_gpu()": (coverage_by_gpu, (), None),
    "zeus.epochs_by_target()": (epochs_by_target, ("librispeech",), None),
    "zeus.epochs_by_target(of_dataset := 'imagenet')": (epochs_by_target, ("imagenet",), None),
    "zeus.power_over_limit()": (power_over_limit, (), None),
    "zeus.run_spread()": (run_spread, ("v100", False), SEEDS),
    "zeus.run_spread(on_gpu := 'a40')": (run_spread, ("a40", False), SEEDS),
    "zeus.run_spread(every_target := true)": (run_spread, ("v100", True), SEEDS),
    "zeus.epochs_by_batch_size()": (epochs_by_batch_size, ("librispeech", None), BATCH),
    "zeus.epochs_by_batch_size(to_target := 35)": (epochs_by_batch_size, ("librispeech", 35), BATCH),
    "zeus.epochs_by_batch_size(of_dataset := 'imagenet')": (epochs_by_batch_size, ("imagenet", None), BATCH),
    "zeus.epochs_by_batch_size(of_dataset := 'cifar100', to_target := 0.8)": (
        epochs_by_batch_size,
        ("cifar100", 0.8),
        BATCH,
    ),
    "zeus.power_by_limit()": (power_by_limit, ("v100", "librispeech", None, 0.5), LIMIT),
    "zeus.power_by_limit(of_dataset := 'cifar100', eta := 1)": (
        power_by_limit,
        ("v100", "cifar100", None, 1),
        LIMIT,
    ),
    "zeus.power_by_limit(at_batch_size := 32, eta := 0)": (
        power_by_limit,
        ("v100", "librispeech", 32, 0),
        LIMIT,
    ),
    "zeus.power_by_limit(on_gpu := 'a40', of_dataset := 'sentiment140')": (
        power_by_limit,
        ("a40", "sentiment140", None, 0.5),
        LIMIT,
    ),
    "zeus.recurring_replay()": (recurring_replay, ("v100", "power_only", 0.5, False), ["dataset"]),
    "zeus.recurring_replay(with_total := true)": (
        recurring_replay,
        ("v100", "power_only", 0.5, True),
        ["dataset"],
    ),
    "zeus.recurring_replay(policy := 'default', with_total := true)": (
        recurring_replay,
        ("v100", "default", 0.5, True),
        ["dataset"],
    ),
    "zeus.recurring_replay(policy := 'batch_only', eta := 1, with_total := true)": (
        recurring_replay,
        ("v100", "batch_only", 1, True),
        ["dataset"],
    ),
    "zeus.recurring_replay(policy := 'oracle', eta := 0, with_total := true)": (
        recurring_replay,
        ("v100", "oracle", 0, True),
        ["dataset"],
    ),
    "zeus.recurring_replay(on_gpu := 'a40', with_total := true)": (
        recurring_replay,
        ("a40", "power_only", 0.5, True),
        ["dataset"],
    ),
}
# Queries on two GPUs do not run on real files, because their power files are not available.
OTHER_GPU_QUERIES = {
    "zeus.cheapest(on_gpu := 'p100')": (cheapest, ("p100", 0.5), ["dataset"]),
    "zeus.cheapest(on_gpu := 'rtx6000', eta := 0.9)": (cheapest, ("rtx6000", 0.9), ["dataset"]),
    "zeus.savings(on_gpu := 'p100')": (savings, ("p100",), None),
    "zeus.savings(on_gpu := 'rtx6000')": (savings, ("rtx6000",), None),
    "zeus.optimum(on_gpu := 'p100', eta := 0.25)": (optimum, ("p100", 0.25), WORKLOAD),
    "zeus.pareto_front(on_gpu := 'rtx6000')": (pareto_front, ("rtx6000", "librispeech"), AT),
    "zeus.run_spread(on_gpu := 'p100', every_target := true)": (run_spread, ("p100", True), SEEDS),
    "zeus.power_by_limit(on_gpu := 'p100', of_dataset := 'imagenet')": (
        power_by_limit,
        ("p100", "imagenet", None, 0.5),
        LIMIT,
    ),
    "zeus.power_by_limit(on_gpu := 'rtx6000', of_dataset := 'squad', eta := 0.9)": (
        power_by_limit,
        ("rtx6000", "squad", None, 0.9),
        LIMIT,
    ),
    "zeus.recurring_replay(on_gpu := 'p100', policy := 'batch_only', with_total := true)": (
        recurring_replay,
        ("p100", "batch_only", 0.5, True),
        ["dataset"],
    ),
    "zeus.recurring_replay(on_gpu := 'rtx6000', eta := 0.75, with_total := true)": (
        recurring_replay,
        ("rtx6000", "power_only", 0.75, True),
        ["dataset"],
    ),
}
QUERIES = QUERIES_OF_GPUS_AT_HAND | OTHER_GPU_QUERIES
ON_REAL_FILES = {*VIEWS, *QUERIES_OF_GPUS_AT_HAND}

# Values of parameters that change the answer over the sample, for tests/clients/test_macros.py.
OTHER_VALUES = {"at_batch_size": 32, "max_batch_size": 32, "to_target": 50}
