"""Synthetic openb: two node lists and five pod lists of one GPU-sharing cluster.

Reproduced: the nodes and GPUs of each model, the CPU-only nodes, and node names that mean other nodes
in the other list; the pods by phase, quality of service, GPUs and share of a GPU; `gpu_milli` of
one GPU, 1000 wherever there are several and 0 where there is none; an empty scheduled time on exactly
the pending pods; long-lived early pods and then a burst of short ones; names that mean other pods in
every variant but gpuspec33; alternatives joined by ``|``, one of them twice; five columns only in
multigpu50; unsorted variants with repeated content; a pod that asks for no memory.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.samples.declare import Sampler
from tracehouse.samples.draw import (
    Ints,
    apportion,
    arrivals,
    labels,
    lognormal,
    pick,
    scaled,
    spread,
    whole,
)
from tracehouse.samples.files import OnBytes, write_csv

# A smaller list could not hold a pod of every phase, class and size.
LEAST_SCALE = 0.02


@dataclass(frozen=True)
class NodeShape:
    """Nodes that are alike: how many, and what each has."""

    nodes: int
    cpu_milli: int
    memory_mib: int
    gpus: int = 0
    model: str | None = None


GPU_NODES = (
    NodeShape(134 - 3, 24_000, 147_456, 2, "P100"),
    NodeShape(3, 8_000, 65_536, 1, "P100"),
    NodeShape(387, 104_000, 524_288, 2, "T4"),
    NodeShape(17, 96_000, 393_216, 4, "T4"),
    NodeShape(549, 96_000, 393_216, 8, "G2"),
    NodeShape(39, 128_000, 786_432, 8, "G3"),
    NodeShape(19, 8_000, 32_768, 1, "V100M16"),
    NodeShape(28, 32_000, 131_072, 4, "V100M16"),
    NodeShape(8, 65_000, 262_144, 8, "V100M16"),
    NodeShape(9, 48_000, 376_832, 4, "V100M32"),
    NodeShape(21, 96_000, 786_432, 8, "V100M32"),
    NodeShape(2, 128_000, 1_048_576, 1, "A10"),
)
CPU_NODES = (
    NodeShape(150, 32_000, 262_144),
    NodeShape(50, 64_000, 294_912),
    NodeShape(110, 96_000, 491_520),
)

# (quality of service, phase) and pods; then how many pods of each phase ask for no GPU.
PODS_BY_CLASS = {
    ("BE", "Failed"): 1627,
    ("BE", "Pending"): 441,
    ("BE", "Running"): 1330,
    ("LS", "Failed"): 203,
    ("LS", "Pending"): 454,
    ("LS", "Running"): 3837,
    ("LS", "Succeeded"): 153,
    ("Burstable", "Failed"): 40,
    ("Burstable", "Pending"): 2,
    ("Burstable", "Running"): 19,
    ("Burstable", "Succeeded"): 39,
    ("Guaranteed", "Running"): 7,
}
CPU_ONLY_BY_PHASE = {"Running": 1044, "Failed": 1, "Pending": 36, "Succeeded": 7}
SEVERAL_GPUS = {2: 16, 4: 15, 8: 44}
ADDED_SEVERAL_GPUS = {2: 206, 4: 191, 8: 512}

# Thousandths of one GPU, of pods with one GPU.
# fmt: off
GPU_MILLI = {
    1000: 3911, 810: 1078, 700: 180, 600: 150, 520: 70, 470: 750, 400: 160, 320: 330, 280: 52,
    250: 100, 200: 120, 150: 60, 100: 28,
}
# fmt: on
CPU_MILLI_PER_GPU = (3_000, 4_000, 6_000, 8_000, 10_000, 12_000)
CPU_MILLI_WITHOUT_GPU = (2_000, 4_000, 8_000, 16_000, 32_000)
MIB_PER_CPU_MILLI = (2, 4)
LARGEST_CPU_MILLI, LARGEST_MIB = 120_000, 737_280

GPU_SPECS = {
    "T4": 1291,
    "G2": 331,
    "P100": 279,
    "V100M16|V100M32": 141,
    "P100|V100M16|V100M32": 100,
    "G3": 85,
    "G2|P100|T4": 40,
    "P100|T4|V100M16|V100M32": 30,
    "G2|T4|V100M32": 25,
    "V100M16|V100M32|V100M32": 22,
    "V100M32": 20,
    "A10|T4": 8,
    "G2|G3": 6,
    "P100|V100M16": 4,
    "A10|G2|G3|P100|T4|V100M16|V100M32": 3,
    "V100M16": 3,
}

PODS = 8_152
EARLY_PODS = 19
FIRST_BUSY_S, LAST_CREATION_S, END_S = 9_504_000, 12_901_761, 12_902_960
LONGEST_WAIT_S = 14_330

CPU100_CPU_ONLY = 789
GPUSHARE40_SHARE = 0.401
TIMES = ("creation_time", "deletion_time", "scheduled_time")
REQUESTS = ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")


def expected_bytes(scale: float) -> int:
    """About how many bytes of text a sample has."""
    return round(2_700_000 * scale)


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write the node and pod lists below `folder`."""
    scale = max(scale, LEAST_SCALE)
    pods = _default_pods(scale, rng)
    lists = {
        "node_list_all_node": _nodes((*CPU_NODES, *GPU_NODES), scale, rng),
        "node_list_gpu_node": _nodes(GPU_NODES, scale, rng),
        "pod_list_default": _named(pods),
        "pod_list_cpu100": _named(_cpu100(pods, scale, rng)),
        "pod_list_gpushare40": _named(_gpushare40(pods, rng)),
        "pod_list_gpuspec33": _named(_gpuspec33(pods, scale, rng)),
        "pod_list_multigpu50": _named(_multigpu50(pods, scale, rng)),
    }
    return [write_csv(folder / "csv" / f"openb_{name}.csv", frame, on_bytes) for name, frame in lists.items()]


def _nodes(shapes: tuple[NodeShape, ...], scale: float, rng: np.random.Generator) -> pl.DataFrame:
    counts = [scaled(shape.nodes, scale) for shape in shapes]
    # Another order in each list: a name says nothing about the node of that name in the other one.
    blocks = rng.permutation(len(shapes))
    order = np.concatenate([np.full(counts[shape], shape) for shape in blocks])
    return pl.DataFrame(
        {
            "sn": _names("openb-node", len(order)),
            "cpu_milli": np.array([shape.cpu_milli for shape in shapes])[order],
            "memory_mib": np.array([shape.memory_mib for shape in shapes])[order],
            "gpu": np.array([shape.gpus for shape in shapes])[order],
            "model": labels(order, [shape.model for shape in shapes]),
        }
    )


def _names(prefix: str, count: int) -> pl.Series:
    return pl.select(prefix + "-" + pl.int_range(count).cast(pl.String).str.zfill(4)).to_series()


def _named(pods: pl.DataFrame) -> pl.DataFrame:
    return pods.select(_names("openb-pod", pods.height).alias("name"), pl.all())


def _default_pods(scale: float, rng: np.random.Generator) -> pl.DataFrame:
    count = scaled(PODS, scale)
    classes = list(PODS_BY_CLASS)
    code = spread(rng, count, list(PODS_BY_CLASS.values()))
    phase = np.array([phase for _, phase in classes])[code]
    gpus = _gpus(phase, scale, rng)
    requests = _requests(gpus, rng)
    requests["memory_mib"][rng.integers(count)] = 0
    return pl.DataFrame(requests).with_columns(
        pl.lit(None, dtype=pl.String).alias("gpu_spec"),
        labels(code, [qos for qos, _ in classes]).alias("qos"),
        pl.Series("pod_phase", phase),
        *_times(phase, gpus, scale, rng),
    )


def _gpus(phase: np.ndarray, scale: float, rng: np.random.Generator) -> Ints:
    gpus = np.ones(len(phase), dtype=np.int64)
    for name, cpu_only in CPU_ONLY_BY_PHASE.items():
        gpus[pick(rng, phase == name, scaled(cpu_only, scale))] = 0
    several = np.concatenate([np.full(scaled(pods, scale), size) for size, pods in SEVERAL_GPUS.items()])
    # Not of failed pods, of which a small list has too few of each class to spare.
    gpus[pick(rng, (gpus == 1) & (phase == "Running"), len(several))] = several
    return gpus


def _requests(gpus: Ints, rng: np.random.Generator) -> dict[str, Ints]:
    one = gpus == 1
    milli = np.where(gpus > 1, 1000, 0)
    milli[one] = np.array(list(GPU_MILLI))[spread(rng, int(one.sum()), list(GPU_MILLI.values()))]
    per_gpu = rng.choice(CPU_MILLI_PER_GPU, len(gpus))
    without = rng.choice(CPU_MILLI_WITHOUT_GPU, len(gpus))
    cpu = np.where(gpus > 0, per_gpu * np.maximum(gpus, 1), without).clip(max=LARGEST_CPU_MILLI)
    memory = (cpu * rng.choice(MIB_PER_CPU_MILLI, len(gpus))).clip(max=LARGEST_MIB)
    return {"cpu_milli": cpu, "memory_mib": memory, "num_gpu": gpus, "gpu_milli": milli}


def _times(
    phase: np.ndarray, gpus: Ints, scale: float, rng: np.random.Generator
) -> tuple[pl.Series, pl.Series, pl.Series]:
    """When each pod was created, deleted and scheduled, in seconds from the first pod."""
    count = len(phase)
    early = min(scaled(EARLY_PODS, scale, 2), count // 2)
    creation = np.concatenate(
        (
            arrivals(rng, early, 0, FIRST_BUSY_S - 1),
            arrivals(rng, count - early, FIRST_BUSY_S, LAST_CREATION_S),
        )
    )
    pending = phase == "Pending"
    waits = lognormal(rng, count, 2.0, 2.9)
    wait = np.where(pending, 0, waits.clip(max=LONGEST_WAIT_S)).astype(np.int64)
    run = lognormal(rng, count, np.where(pending, 94.0, 895.0), np.where(pending, 1.2, 1.7))
    run[:early] = END_S
    deletion = np.minimum(creation + wait + run.astype(np.int64), END_S)
    scheduled = np.minimum(creation + wait, deletion)
    return (
        whole(creation).alias("creation_time"),
        whole(deletion).alias("deletion_time"),
        whole(scheduled, null=pending).alias("scheduled_time"),
    )


def _cpu100(pods: pl.DataFrame, scale: float, rng: np.random.Generator) -> pl.DataFrame:
    """Every GPU pod, and CPU-only pods drawn with repetition, in no order."""
    cpu_only = pods.filter(pl.col("num_gpu") == 0)
    drawn = rng.integers(0, cpu_only.height, scaled(CPU100_CPU_ONLY, scale))
    drawn[-1] = drawn[0]
    return _shuffled(pl.concat([cpu_only[drawn], pods.filter(pl.col("num_gpu") > 0)]), rng)


def _gpushare40(pods: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """As many GPU pods, redrawn so that those that share a GPU make up 40.1 % of the GPUs asked for."""
    on_gpu = pods.filter(pl.col("num_gpu") > 0)
    sharing = on_gpu.filter(pl.col("gpu_milli") < 1000)
    exclusive = on_gpu.filter(pl.col("gpu_milli") == 1000)
    each_sharing = _mean_demand(sharing) / GPUSHARE40_SHARE
    each_exclusive = _mean_demand(exclusive) / (1 - GPUSHARE40_SHARE)
    counts = apportion(on_gpu.height, [1 / each_sharing, 1 / each_exclusive])
    redrawn = [
        frame[rng.integers(0, frame.height, int(count))]
        for frame, count in zip((sharing, exclusive), counts, strict=True)
    ]
    return _shuffled(pl.concat([pods.filter(pl.col("num_gpu") == 0), *redrawn]), rng)


def _mean_demand(pods: pl.DataFrame) -> float:
    return float((pods["num_gpu"] * pods["gpu_milli"]).to_numpy().mean())


def _gpuspec33(pods: pl.DataFrame, scale: float, rng: np.random.Generator) -> pl.DataFrame:
    """The default pods in their order, a third of those with a GPU bound to some models."""
    names = list(GPU_SPECS)
    bound = scaled(sum(GPU_SPECS.values()), scale)
    rows = pick(rng, pods["num_gpu"].to_numpy() > 0, bound)
    spec = np.full(pods.height, len(names))
    spec[rows] = spread(rng, len(rows), list(GPU_SPECS.values()))
    return pods.with_columns(labels(spec, [*names, None]).alias("gpu_spec"))


def _multigpu50(pods: pl.DataFrame, scale: float, rng: np.random.Generator) -> pl.DataFrame:
    """The default pods and, after them, more with several GPUs; what they ask for and no more."""
    gpus = np.concatenate([np.full(scaled(count, scale), size) for size, count in ADDED_SEVERAL_GPUS.items()])
    added = pl.DataFrame(_requests(rng.permutation(gpus), rng))
    return pl.concat([pods.select(REQUESTS), added])


def _shuffled(pods: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    return pods[rng.permutation(pods.height)]


SAMPLER = Sampler(write, expected_bytes)
