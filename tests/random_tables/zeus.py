"""Random Zeus tables, and each rule of the views in plain Python.

The tables contain cases that are rare in the sample: configurations of equal time, energy or both, runs that
never reach a target, one run or several, a workload that the replay script lacks, an optimizer with a power
measurement but no training run, and baselines without a measurement.
"""

import lzma
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random
from statistics import fmean

import duckdb
import pytest
import raw_dumps
from twins import zeus as reference

from random_tables import Case

Row = dict[str, object]
Rows = list[Row]
Tables = dict[str, Rows]

TRAIN = ("dataset", "network", "batch_size", "optimizer", "learning_rate", "run")
TRAIN += ("target_metric", "target_epoch")
POWER = ("dataset", "network", "batch_size", "optimizer", "power_limit", "time_per_epoch", "average_power")
GROUP = ("group", "start_time", "end_time", "dataset", "runtime_ratio")
GPUS = ("a40", "p100", "v100")
CONFIG = ("dataset", "network", "optimizer", "batch_size")

# Optimizer, batch sizes and targets of each workload. The replay script uses the first target.
WORKLOADS = {
    ("squad", "bert_base_uncased"): ("adamw", (8, 16, 32, 48), (84.0, 85.0)),
    ("librispeech", "deepspeech2"): ("adamw", (64, 128, 192, 256), (40.0, 35.0)),
    ("cifar100", "shufflenetv2"): ("adadelta", (256, 512, 1024, 2048), (0.6, 0.65)),
    ("mnist", "lenet"): ("sgd", (32, 64), (0.9, 0.95)),
}
# Target and default batch size of the workloads in the replay script.
REPLAYED = {
    ("squad", "bert_base_uncased"): (84.0, 32),
    ("librispeech", "deepspeech2"): (40.0, 192),
    ("cifar100", "shufflenetv2"): (0.6, 1024),
}


def train_rows(random: Random) -> Rows:
    """Draw one, two or four runs per configuration, so that means over runs have no rounding error."""
    rows = []
    for (dataset, network), (optimizer, batch_sizes, targets) in WORKLOADS.items():
        for batch_size in random.sample(batch_sizes, random.randint(2, len(batch_sizes))):
            named = {
                "dataset": dataset,
                "network": network,
                "batch_size": batch_size,
                "optimizer": optimizer,
                "learning_rate": "1e-1",
            }
            never = random.choice((0, 0, 0.3))
            rows += [
                named | {"run": run, "target_metric": target, "target_epoch": epoch}
                for run in range(1, random.choice((1, 2, 4)) + 1)
                for target in targets
                for epoch in ["nan" if random.random() < never else random.randint(1, 3)]
            ]
    return rows


def power_rows(random: Random) -> Rows:
    """Draw from few times and powers: many are equal, some exceed the limit. Some limits are missing."""
    rows = []
    for (dataset, network), (optimizer, batch_sizes, _) in WORKLOADS.items():
        measured = [
            (size, optimizer) for size in random.sample(batch_sizes, random.randint(1, len(batch_sizes)))
        ]
        measured += [(size, "adam") for size in random.sample(batch_sizes, 1)]
        for batch_size, trained_with in measured:
            most = random.choice(([200], [200], []))
            rows += [
                {
                    "dataset": dataset,
                    "network": network,
                    "batch_size": batch_size,
                    "optimizer": trained_with,
                    "power_limit": power_limit,
                    "time_per_epoch": random.choice((1.0, 1.5, 2.0, 4.0)),
                    "average_power": random.choice((75.0, 100.0, 150.0, 200.0)),
                }
                for power_limit in [*random.sample((100, 125, 150), random.randint(1, 3)), *most]
            ]
    return rows


def alibaba_rows(random: Random) -> tuple[Rows, Rows]:
    """Return jobs of groups with one data set per group, and PAI tags, some with other groups or none."""
    datasets = {f"g{number}": random.choice(list(WORKLOADS))[0] for number in range(6)}
    groups = []
    for group in random.choices(list(datasets), k=20):
        start = float(random.randint(1, 9_000))
        groups.append(
            {
                "group": group,
                "start_time": start,
                "end_time": start + random.randint(1, 900),
                "dataset": datasets[group],
                "runtime_ratio": random.randint(1, 8) / 4,
            }
        )
    tags = [
        {
            "inst_id": f"i{number}",
            "user": "u1",
            "gpu_type_spec": None,
            "group": random.choice((None, "g0", "g1", "g2", "stranger")),
            "workload": None,
        }
        for number in range(15)
    ]
    return groups, tags


def zeus_tables(seed: int) -> Tables:
    random = Random(seed)
    groups, tags = alibaba_rows(random)
    powers = {f"summary_power_{gpu}": power_rows(random) for gpu in GPUS}
    return {"summary_train": train_rows(random), **powers, "alibaba_groups": groups, "pai_tags": tags}


def write(raw: Path, seed: int) -> Tables:
    tables = zeus_tables(seed)
    folder = raw / "zeus"
    folder.mkdir(parents=True)
    (folder / "summary_train.csv").write_bytes(raw_dumps.csv_text(TRAIN, tables["summary_train"], True))
    for gpu in GPUS:
        text = raw_dumps.csv_text(POWER, tables[f"summary_power_{gpu}"], True)
        (folder / f"summary_power_{gpu}.csv").write_bytes(text)
    text = raw_dumps.csv_text(GROUP, tables["alibaba_groups"], True)
    (folder / "alibaba_groups.csv.xz").write_bytes(lzma.compress(text))
    raw_dumps.write_pai(raw / "pai" / "data", {"pai_group_tag_table": tables["pai_tags"]})
    return tables


def count(tables: Tables) -> dict[str, int]:
    return {
        "zeus.train": len(tables["summary_train"]),
        "zeus.power": sum(len(tables[f"summary_power_{gpu}"]) for gpu in GPUS),
        "zeus.alibaba_group": len(tables["alibaba_groups"]),
        "pai.group_tag": len(tables["pai_tags"]),
    }


def assert_rules(tables: Tables, connection: duckdb.DuckDBPyConnection) -> None:
    configs = raw_dumps.columns_of(connection, "zeus.pareto_v1")
    assert_coverage(tables, raw_dumps.columns_of(connection, "zeus.coverage_v1"))
    assert_configs(tables, configs)
    assert_front(configs)
    assert_savings(configs, raw_dumps.columns_of(connection, "zeus.saving_v1"))
    assert_matches(tables, raw_dumps.columns_of(connection, "zeus.group_match_v1"))


def config_of(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in CONFIG)


def assert_coverage(tables: Tables, coverage: Rows) -> None:
    trained = {config_of(row) for row in tables["summary_train"]}
    expected = {}
    for gpu in GPUS:
        powered = {config_of(row) for row in tables[f"summary_power_{gpu}"]}
        for config in trained | powered:
            expected[gpu, *config] = (config in trained, config in powered)
    assert len(coverage) == len(expected)
    found = {(row["gpu"], *config_of(row)): (row["in_train"], row["in_power"]) for row in coverage}
    assert found == expected


def expected_configs(tables: Tables) -> dict[tuple[object, ...], tuple[object, ...]]:
    """Target, time, energy, baseline and flags of each configuration that reached the target."""
    expected = {}
    for gpu in GPUS:
        powers = tables[f"summary_power_{gpu}"]
        most = max(row["power_limit"] for row in powers)
        for power in powers:
            workload = power["dataset"], power["network"]
            target, default = REPLAYED.get(workload, (None, None))
            runs = [
                row["target_epoch"]
                for row in tables["summary_train"]
                if config_of(row) == config_of(power) and row["target_metric"] == target
            ]
            if not runs or "nan" in runs:
                continue
            sizes = [
                row["batch_size"]
                for row in powers
                if (row["dataset"], row["network"], row["optimizer"]) == (*workload, power["optimizer"])
            ]
            time = fmean(runs) * power["time_per_epoch"]
            at = min(default, max(sizes))
            is_default, is_most = power["batch_size"] == at, power["power_limit"] == most
            compared = most, at, is_default, is_most, is_default and is_most
            key = gpu, *config_of(power), power["power_limit"]
            expected[key] = (target, time, time * power["average_power"], *compared)
    return expected


def assert_configs(tables: Tables, configs: Rows) -> None:
    names = ("target_metric", "time_to_accuracy_s", "energy_to_accuracy_j", "max_power_w")
    names += ("default_batch_size", "is_default_batch", "is_max_power", "is_baseline")
    found = {
        (row["gpu"], *config_of(row), row["power_limit_w"]): tuple(row[name] for name in names)
        for row in configs
    }
    assert len(found) == len(configs)
    assert found == expected_configs(tables)


def assert_front(configs: Rows) -> None:
    """Compare each configuration with all others of the same workload and GPU."""
    for row in configs:
        mine = row["time_to_accuracy_s"], row["energy_to_accuracy_j"]
        others = [
            (other["time_to_accuracy_s"], other["energy_to_accuracy_j"])
            for other in configs
            if workload_of(other) == workload_of(row)
        ]
        is_beaten = any(
            time <= mine[0] and energy <= mine[1] and (time, energy) != mine for time, energy in others
        )
        assert row["is_pareto"] is not is_beaten


def workload_of(row: Row) -> tuple[object, ...]:
    return row["gpu"], row["dataset"], row["network"]


def cheapest(configs: Rows) -> Row:
    """The cheapest configuration; ties go to the smaller batch, then to the smaller limit."""
    by = ("energy_to_accuracy_j", "batch_size", "power_limit_w")
    return min(configs, key=lambda row: tuple(row[name] for name in by))


def assert_savings(configs: Rows, savings: Rows) -> None:
    workloads = {workload_of(row) for row in configs}
    assert Counter(map(workload_of, savings)) == dict.fromkeys(workloads, 1)
    for row in savings:
        mine = [config for config in configs if workload_of(config) == workload_of(row)]
        assert row["configs"] == len(mine)
        assert row["pareto_configs"] == sum(config["is_pareto"] for config in mine)
        assert_saving(row, mine)


def assert_saving(row: Mapping[str, object], configs: Rows) -> None:
    baselines = [config for config in configs if config["is_baseline"]]
    if not baselines:
        given = {"gpu", "dataset", "network", "pareto_configs", "configs"}
        assert all(row[name] is None for name in row.keys() - given)
        return
    (baseline,) = baselines
    time, energy = baseline["time_to_accuracy_s"], baseline["energy_to_accuracy_j"]
    assert (row["baseline_time_s"], row["baseline_energy_j"]) == (time, energy)
    chosen = {
        "batch_only": cheapest([config for config in configs if config["is_max_power"]]),
        "power_only": cheapest([config for config in configs if config["is_default_batch"]]),
        "joint": cheapest(configs),
    }
    for name, config in chosen.items():
        saved = 100 * (1 - config["energy_to_accuracy_j"] / energy)
        assert row[f"{name}_pct"] == pytest.approx(saved, abs=1e-9)
    assert row["batch_only_batch_size"] == chosen["batch_only"]["batch_size"]
    assert row["power_only_limit_w"] == chosen["power_only"]["power_limit_w"]
    joint = chosen["joint"]
    assert (row["joint_batch_size"], row["joint_power_limit_w"]) == (
        joint["batch_size"],
        joint["power_limit_w"],
    )
    fastest = min(config["time_to_accuracy_s"] for config in configs)
    assert row["best_time_pct"] == pytest.approx(100 * (1 - fastest / time), abs=1e-9)


def assert_matches(tables: Tables, matches: Rows) -> None:
    tagged = Counter(row["group"] for row in tables["pai_tags"])
    expected = {}
    for group in {row["group"] for row in tables["alibaba_groups"]}:
        jobs = [row for row in tables["alibaba_groups"] if row["group"] == group]
        expected[group] = {
            "group_id": group,
            "dataset": jobs[0]["dataset"],
            "jobs": len(jobs),
            "first_start_s": min(job["start_time"] for job in jobs),
            "last_end_s": max(job["end_time"] for job in jobs),
            "pai_jobs": tagged[group],
            "pai_group_matches": tagged[group] > 0,
        }
    assert {row["group_id"]: row for row in matches} == expected
    assert len(matches) == len(expected)


# This query does not define which of two equally cheap configurations it returns.
UNIQUE_QUERIES = {call: twin for call, twin in reference.QUERIES.items() if twin[0] is not reference.cheapest}
CASES = {"random runs": Case(write, count, reference.VIEWS, UNIQUE_QUERIES, (assert_rules,))}
