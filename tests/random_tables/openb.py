"""Random openb clusters and pod lists, and the definitions of concurrency and fragmentation in plain Python.

The tables contain cases that are rare in the sample: pods that start and end in the same second, equally
frequent pod classes, also at the limit of 95 % of the pods, pods that use a node to the last milli-CPU,
models whose names share a prefix, and partly allocated nodes.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

import duckdb
import pytest
import raw_dumps
from twins import openb as reference

from random_tables import Case

Row = raw_dumps.Row
Lists = dict[str, list[Row]]

NODE = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
REQUEST = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
POD = (*REQUEST, "gpu_spec", "qos", "pod_phase", "creation_time", "deletion_time", "scheduled_time")
PHASES = ("Failed", "Pending", "Running", "Succeeded")
MODELS = ("A10", "G2", "P100", "T4", "V100M16", "V100M32")
# No node has the model T40 or V100M3. A substring search for T4 would match T40.
SPECS = (None, "T4", "T40", "T40|V100M3", "V100M16|V100M32|V100M32", "G2|T4", "V100M32|A10")
CPUS = (0, 4_000, 8_000, 8_001, 16_000, 64_000)
# Pods with several GPUs request whole GPUs, as in the publisher's lists.
REQUESTS = (
    (0, 0),
    (1, 1),
    (1, 250),
    (1, 500),
    (1, 501),
    (1, 999),
    (1, 1_000),
    (2, 1_000),
    (3, 1_000),
    (8, 1_000),
)


def random_nodes(random: Random) -> list[Row]:
    return [
        {
            "sn": f"openb-node-{number:04}",
            "cpu_milli": random.choice((4_000, 8_000, 16_000, 96_000)),
            "memory_mib": 1_024 * random.randint(16, 512),
            "gpu": random.choice((1, 2, 4, 8)),
            "model": random.choice(MODELS),
        }
        for number in range(random.randint(1, 12))
    ]


def random_pods(random: Random, variant: str) -> list[Row]:
    """Return pods of few kinds at few times, so that many values are equal."""
    kinds = [
        (random.choice(CPUS), *random.choice(REQUESTS), random.choice(SPECS))
        for _ in range(random.randint(3, 14))
    ]
    # The first pods request a GPU, one in each phase, whatever kinds are drawn.
    wanted = [(4_000, 1, 500, None)] * len(PHASES)
    wanted += random.choices(kinds, k=random.choice((16, 16, 36, 56, 13, 41)))
    phases = [*PHASES, *random.choices(PHASES, k=len(wanted) - len(PHASES))]
    pods = []
    for (cpu_milli, num_gpu, gpu_milli, gpu_spec), phase in zip(wanted, phases, strict=True):
        created = random.randint(0, 30)
        scheduled = created + random.choice((0, 0, 1, 5))
        pods.append(
            {
                "cpu_milli": cpu_milli,
                "memory_mib": random.choice((0, 1_024, 5_000)),
                "num_gpu": num_gpu,
                "gpu_milli": gpu_milli,
                "gpu_spec": gpu_spec if variant.startswith("gpuspec") else None,
                "qos": random.choice(("LS", "BE", "Burstable")),
                "pod_phase": phase,
                "creation_time": created,
                "scheduled_time": None if phase == "Pending" else scheduled,
                "deletion_time": random.choice((scheduled + random.randint(0, 20), 60)),
            }
        )
    random.shuffle(pods)
    return [{"name": f"openb-pod-{number:04}", **pod} for number, pod in enumerate(pods)]


def random_lists(seed: int) -> tuple[list[Row], Lists]:
    random = Random(seed)
    variants = ("default", "cpu100", "gpushare40", "gpuspec33", "multigpu50")
    return random_nodes(random), {variant: random_pods(random, variant) for variant in variants}


def write(raw: Path, seed: int) -> tuple[list[Row], Lists]:
    """Write both node lists and all pod lists. The list of all nodes has other names and one node more."""
    nodes, pods = random_lists(seed)
    without_gpu = {
        "sn": "openb-node-9999",
        "cpu_milli": 32_000,
        "memory_mib": 65_536,
        "gpu": 0,
        "model": None,
    }
    renamed = [{**node, "sn": nodes[-1 - place]["sn"]} for place, node in enumerate(nodes)]
    csv = raw / "openb" / "csv"
    csv.mkdir(parents=True)
    for name, rows in (("gpu_node", nodes), ("all_node", [*renamed, without_gpu])):
        (csv / f"openb_node_list_{name}.csv").write_bytes(raw_dumps.csv_text(NODE, rows, True))
    for variant, rows in pods.items():
        (csv / f"openb_pod_list_{variant}.csv").write_bytes(
            raw_dumps.csv_text(columns_of(variant), rows, True)
        )
    return nodes, pods


def columns_of(variant: str) -> tuple[str, ...]:
    return REQUEST if variant.startswith("multigpu") else POD


def count(lists: tuple[list[Row], Lists]) -> dict[str, int]:
    nodes, pods = lists
    return {"openb.node": 2 * len(nodes) + 1, "openb.pod": sum(map(len, pods.values()))}


def assert_concurrency_is_counted_at_every_time(
    lists: tuple[list[Row], Lists], connection: duckdb.DuckDBPyConnection
) -> None:
    _, pods = lists
    rows = raw_dumps.columns_of(connection, "openb.concurrency_v1 order by variant, from_s")
    peaks = {
        variant: raw_dumps.columns_of(connection, f"openb.peak_concurrency('{variant}')")[0]
        for variant in pods
        if variant != "multigpu50"
    }
    sweep = defaultdict(list)
    for row in rows:
        sweep[row["variant"]].append(row)
    assert sweep.keys() == peaks.keys()
    for variant, peak in peaks.items():
        ran = [pod for pod in pods[variant] if pod["scheduled_time"] is not None]
        times = sorted({pod[name] for pod in ran for name in ("scheduled_time", "deletion_time")})
        spans = zip(times, [*times[1:], None], strict=True)
        wanted = [(time, until, *running_at(time, ran)) for time, until in spans]
        names = ("from_s", "to_s", "pods", "gpu_pods", "used_gpus")
        found = [tuple(row[name] for name in names) for row in sweep[variant]]
        assert found == [(*counts, pytest.approx(used, abs=1e-9)) for *counts, used in wanted]
        highest = max(used for *_, used in wanted)
        assert peak["peak_used_gpus"] == pytest.approx(highest)
        assert peak["peak_at_s"] == next(time for time, *_, used in wanted if used == highest)
        first = min(pod["creation_time"] for pod in pods[variant])
        last = max(pod["deletion_time"] for pod in pods[variant])
        each_second = [running_at(second, ran)[2] for second in range(first, last)]
        assert peak["mean_used_gpus"] == pytest.approx(sum(each_second) / (last - first))
        assert peak["gpu_h"] == pytest.approx(sum(each_second) / 3_600)


def running_at(time: int, pods: Sequence[Row]) -> tuple[int, int, float]:
    running = [pod for pod in pods if pod["scheduled_time"] <= time < pod["deletion_time"]]
    milli = sum(pod["num_gpu"] * pod["gpu_milli"] for pod in running)
    return len(running), sum(pod["num_gpu"] > 0 for pod in running), milli / 1_000


Residual = Mapping[str, tuple[str, int, list[int]]]


def classes_of(pods: Sequence[Row]) -> list[tuple[tuple[object, ...], Fraction]]:
    """Return the most frequent kinds of pods that cover 95 % of all, with their shares of these pods."""
    names = ("cpu_milli", "gpu_milli", "num_gpu", "gpu_spec")
    counts = Counter(tuple(pod.get(name) for name in names) for pod in pods)
    kinds = sorted(counts, key=lambda kind: (-counts[kind], *kind[:3], kind[3] is not None, kind[3] or ""))
    kept, covered = [], 0
    while covered < Fraction(95, 100) * len(pods):
        kept.append(kinds[len(kept)])
        covered += counts[kept[-1]]
    return [(kind, Fraction(counts[kind], covered)) for kind in kept]


def fragmented_in(model: str, free_cpu: int, gpus: Sequence[int], pods: Sequence[Row]) -> Fraction:
    total = Fraction(0)
    for (cpu_milli, gpu_milli, num_gpu, gpu_spec), share in classes_of(pods):
        large_enough = 0
        for free in gpus:
            if free >= gpu_milli:
                large_enough += 1
        runs = num_gpu > 0 and large_enough >= num_gpu and free_cpu >= cpu_milli
        runs = runs and (gpu_spec is None or model in gpu_spec.split("|"))
        for free in gpus:
            if not runs or free < gpu_milli:
                total += share * Fraction(free, 1_000)
    return total


def assert_fragmentation_agrees_with_a_loop(
    lists: tuple[list[Row], Lists], connection: duckdb.DuckDBPyConnection
) -> None:
    """A loop over nodes, GPUs and pod classes computes the same fragmentation."""
    nodes, pod_lists = lists
    allocated = partly_allocated(Random(len(nodes)), nodes)
    capacity = sum(node["gpu"] for node in nodes)
    found = raw_dumps.columns_of(connection, "openb.fragmentation_v1")
    classes = raw_dumps.columns_of(connection, "openb.task_class_v1 order by variant, class_number")
    shares = raw_dumps.columns_of(connection, "openb.fragmentation_share()")
    write_residual(connection, allocated)
    left = {
        variant: raw_dumps.columns_of(connection, f"openb.fragmentation_of('residual', '{variant}')")
        for variant in pod_lists
    }
    assert [row["variant"] for row in shares] == sorted(pod_lists)
    for share in shares:
        variant = share["variant"]
        pods = lists_as_read(variant, pod_lists[variant])
        wanted = {
            node["sn"]: fragmented_in(node["model"], node["cpu_milli"], [1_000] * node["gpu"], pods)
            for node in nodes
        }
        mine = {row["sn"]: row for row in found if row["variant"] == variant}
        assert {sn: row["fragmented_gpus"] for sn, row in mine.items()} == close_to(wanted)
        rates = {node["sn"]: wanted[node["sn"]] / node["gpu"] for node in nodes}
        assert {sn: row["fragmentation_rate"] for sn, row in mine.items()} == close_to(rates)
        names = ("cpu_milli", "gpu_milli", "num_gpu", "gpu_spec")
        kinds = [tuple(row[name] for name in names) for row in classes if row["variant"] == variant]
        assert kinds == [kind for kind, _ in classes_of(pods)]
        assert_share(share, len(kinds), sum(wanted.values()), capacity)
        (row,) = left[variant]
        assert row["variant"] == variant
        assert_share(
            row, len(kinds), sum(fragmented_in(*node, pods) for node in allocated.values()), capacity
        )


def lists_as_read(variant: str, pods: Sequence[Row]) -> list[Row]:
    """Return pods with the columns of their file only."""
    return [{name: pod[name] for name in columns_of(variant)} for pod in pods]


def partly_allocated(random: Random, nodes: Sequence[Row]) -> Residual:
    """Return nodes with running pods: some GPUs are free, some shared, some allocated."""
    return {
        node["sn"]: (
            node["model"],
            random.choice((0, node["cpu_milli"] // 2, node["cpu_milli"])),
            [random.choice((0, 1, 249, 250, 500, 501, 999, 1_000, 1_000)) for _ in range(node["gpu"])],
        )
        for node in nodes
    }


def write_residual(connection: duckdb.DuckDBPyConnection, residual: Residual) -> None:
    connection.execute(
        "create temp table residual"
        " (sn varchar, model varchar, gpu_number integer, free_cpu_milli bigint, free_gpu_milli bigint)"
    )
    rows = [
        (sn, model, number, free_cpu, free)
        for sn, (model, free_cpu, gpus) in residual.items()
        for number, free in enumerate(gpus)
    ]
    connection.executemany("insert into residual values (?, ?, ?, ?, ?)", rows)


def close_to(numbers: Mapping[str, Fraction]) -> object:
    return pytest.approx({name: float(value) for name, value in numbers.items()}, rel=1e-9, abs=1e-12)


def assert_share(row: Row, classes: int, fragmented: Fraction, capacity: int) -> None:
    assert (row["classes"], row["capacity_gpus"]) == (classes, capacity)
    assert row["fragmented_gpus"] == pytest.approx(float(fragmented), rel=1e-9, abs=1e-12)
    assert row["fragmented_pct"] == pytest.approx(float(100 * fragmented / capacity), rel=1e-9, abs=1e-12)


CASES = {
    "random lists": Case(
        write,
        count,
        reference.VIEWS,
        reference.QUERIES,
        (assert_concurrency_is_counted_at_every_time, assert_fragmentation_agrees_with_a_loop),
    )
}
