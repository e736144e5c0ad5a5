"""Synthetic openb: two node lists and five pod lists of one GPU-sharing cluster.

The sample has the properties of the original that views and caveats are about:

- Each GPU model has its nodes and GPUs. Pods have the published phases, classes of service and GPU requests.
- `gpu_milli` is a share of one GPU, 1000 if a pod requests several GPUs, and 0 without a GPU.
- Only pending pods have an empty scheduled time. One pod has no memory request.
- A few pods that begin early live long; a burst of short ones follows.
- A name means another node or pod in each list, except in gpuspec33.
- `gpu_spec` has alternatives joined by ``|``; one of them occurs twice in a value.
- multigpu50 has only five columns. Variants are unsorted, and some of their pods are repeated.
"""

from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.samples import Sampler, draw
from tracehouse.samples.draw import Ints
from tracehouse.samples.files import OnBytes, write_csv

BYTES = 2_700_000
# At a smaller scale, some phases, classes or sizes would have no pod.
LEAST_SCALE = 0.02

# Number of nodes; and of each node: thousandths of a CPU, MiB of memory, GPUs, GPU model.
GPU_NODES = (
    (134 - 3, 24_000, 147_456, 2, "P100"),
    (3, 8_000, 65_536, 1, "P100"),
    (387, 104_000, 524_288, 2, "T4"),
    (17, 96_000, 393_216, 4, "T4"),
    (549, 96_000, 393_216, 8, "G2"),
    (39, 128_000, 786_432, 8, "G3"),
    (19, 8_000, 32_768, 1, "V100M16"),
    (28, 32_000, 131_072, 4, "V100M16"),
    (8, 65_000, 262_144, 8, "V100M16"),
    (9, 48_000, 376_832, 4, "V100M32"),
    (21, 96_000, 786_432, 8, "V100M32"),
    (2, 128_000, 1_048_576, 1, "A10"),
)
CPU_NODES = (
    (150, 32_000, 262_144, 0, None),
    (50, 64_000, 294_912, 0, None),
    (110, 96_000, 491_520, 0, None),
)
NodeShapes = tuple[tuple[int, int, int, int, str | None], ...]

# Number of pods by quality of service and phase, and of pods without a GPU by phase.
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

# Requests of pods with one GPU: thousandths of the GPU, and the number of pods.
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


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write the node and pod lists below `folder`, and return the paths."""
    scale = max(scale, LEAST_SCALE)
    pods = _default_pods(scale, rng)
    variants = {
        "default": pods,
        "cpu100": _cpu100(pods, scale, rng),
        "gpushare40": _gpushare40(pods, rng),
        "gpuspec33": _gpuspec33(pods, scale, rng),
        "multigpu50": _multigpu50(pods, scale, rng),
    }
    lists = {
        "node_list_all_node": _nodes((*CPU_NODES, *GPU_NODES), scale, rng),
        "node_list_gpu_node": _nodes(GPU_NODES, scale, rng),
        **{f"pod_list_{name}": _numbered("openb-pod", "name", rows) for name, rows in variants.items()},
    }
    return [write_csv(folder / "csv" / f"openb_{name}.csv", rows, on_bytes) for name, rows in lists.items()]


def _nodes(shapes: NodeShapes, scale: float, rng: np.random.Generator) -> pl.DataFrame:
    """Return a node list with the shapes in random order, which differs between the lists."""
    nodes, cpu_milli, memory_mib, gpus, models = zip(*shapes, strict=True)
    blocks = rng.permutation(len(shapes))
    order = np.repeat(blocks, [draw.scaled(nodes[shape], scale) for shape in blocks])
    columns = {"cpu_milli": cpu_milli, "memory_mib": memory_mib, "gpu": gpus}
    rows = pl.DataFrame({name: np.array(values)[order] for name, values in columns.items()})
    return _numbered("openb-node", "sn", rows.with_columns(draw.labels(order, models).alias("model")))


def _numbered(prefix: str, column: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Add a first column of names that end with the number of the row."""
    number = pl.int_range(pl.len()).cast(pl.String).str.zfill(4)
    return rows.select((prefix + "-" + number).alias(column), pl.all())


def _default_pods(scale: float, rng: np.random.Generator) -> pl.DataFrame:
    classes = list(PODS_BY_CLASS)
    code = draw.spread(rng, draw.scaled(PODS, scale), list(PODS_BY_CLASS.values()))
    phase = np.array([phase for _, phase in classes])[code]
    requests = _requests(_gpus(phase, scale, rng), rng)
    requests["memory_mib"][rng.integers(len(code))] = 0
    return pl.DataFrame(requests).with_columns(
        pl.lit(None, dtype=pl.String).alias("gpu_spec"),
        draw.labels(code, [qos for qos, _ in classes]).alias("qos"),
        pl.Series("pod_phase", phase),
        **_times(phase == "Pending", scale, rng),
    )


def _gpus(phase: np.ndarray, scale: float, rng: np.random.Generator) -> Ints:
    gpus = np.ones(len(phase), dtype=np.int64)
    for name, cpu_only in CPU_ONLY_BY_PHASE.items():
        gpus[draw.pick(rng, phase == name, draw.scaled(cpu_only, scale))] = 0
    several = _several_gpus(SEVERAL_GPUS, scale)
    # Only running pods get several GPUs, because a small list has too few pods of other phases.
    gpus[draw.pick(rng, (gpus == 1) & (phase == "Running"), len(several))] = several
    return gpus


def _several_gpus(pods_by_gpus: dict[int, int], scale: float) -> Ints:
    return np.repeat(list(pods_by_gpus), [draw.scaled(pods, scale) for pods in pods_by_gpus.values()])


def _requests(gpus: Ints, rng: np.random.Generator) -> dict[str, Ints]:
    one = gpus == 1
    milli = np.where(gpus > 1, 1000, 0)
    milli[one] = draw.shares(rng, GPU_MILLI, int(one.sum()))
    per_gpu = rng.choice(CPU_MILLI_PER_GPU, len(gpus))
    without = rng.choice(CPU_MILLI_WITHOUT_GPU, len(gpus))
    cpu = np.where(gpus > 0, per_gpu * np.maximum(gpus, 1), without).clip(max=LARGEST_CPU_MILLI)
    memory = (cpu * rng.choice(MIB_PER_CPU_MILLI, len(gpus))).clip(max=LARGEST_MIB)
    return {"cpu_milli": cpu, "memory_mib": memory, "num_gpu": gpus, "gpu_milli": milli}


def _times(pending: np.ndarray, scale: float, rng: np.random.Generator) -> dict[str, pl.Series]:
    """Draw the times of creation, deletion and scheduling, in s since the first pod."""
    count = len(pending)
    early = min(draw.scaled(EARLY_PODS, scale, 2), count // 2)
    later = draw.arrivals(rng, count - early, FIRST_BUSY_S, LAST_CREATION_S)
    creation = np.concatenate((draw.arrivals(rng, early, 0, FIRST_BUSY_S - 1), later))
    wait = draw.lognormal(rng, count, 2.0, 2.9).clip(max=LONGEST_WAIT_S).astype(np.int64) * ~pending
    run = draw.lognormal(rng, count, np.where(pending, 94.0, 895.0), np.where(pending, 1.2, 1.7))
    run[:early] = END_S
    deletion = np.minimum(creation + wait + run.astype(np.int64), END_S)
    return {
        "creation_time": draw.whole(creation),
        "deletion_time": draw.whole(deletion),
        "scheduled_time": draw.whole(np.minimum(creation + wait, deletion), null=pending),
    }


def _cpu100(pods: pl.DataFrame, scale: float, rng: np.random.Generator) -> pl.DataFrame:
    """Return all GPU pods, and CPU-only pods drawn with replacement, in random order."""
    cpu_only = pods.filter(pl.col("num_gpu") == 0)
    drawn = rng.integers(0, cpu_only.height, draw.scaled(CPU100_CPU_ONLY, scale))
    drawn[-1] = drawn[0]
    return _shuffle(pl.concat([cpu_only[drawn], pods.filter(pl.col("num_gpu") > 0)]), rng)


def _gpushare40(pods: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Return as many pods, with GPU pods redrawn: those that share a GPU request 40.1 % of the GPUs."""
    on_gpu = pods.filter(pl.col("num_gpu") > 0)
    sharing = on_gpu.filter(pl.col("gpu_milli") < 1000)
    exclusive = on_gpu.filter(pl.col("gpu_milli") == 1000)
    wanted = (GPUSHARE40_SHARE / _mean_request(sharing), (1 - GPUSHARE40_SHARE) / _mean_request(exclusive))
    redrawn = [
        frame[rng.integers(0, frame.height, int(count))]
        for frame, count in zip((sharing, exclusive), draw.apportion(on_gpu.height, wanted), strict=True)
    ]
    return _shuffle(pl.concat([pods.filter(pl.col("num_gpu") == 0), *redrawn]), rng)


def _mean_request(pods: pl.DataFrame) -> float:
    return float((pods["num_gpu"] * pods["gpu_milli"]).to_numpy().mean())


def _gpuspec33(pods: pl.DataFrame, scale: float, rng: np.random.Generator) -> pl.DataFrame:
    """Return the default pods in their order; a third of the GPU pods requires one of some GPU models."""
    rows = draw.pick(rng, pods["num_gpu"].to_numpy() > 0, draw.scaled(sum(GPU_SPECS.values()), scale))
    spec = np.full(pods.height, len(GPU_SPECS))
    spec[rows] = draw.spread(rng, len(rows), list(GPU_SPECS.values()))
    return pods.with_columns(draw.labels(spec, [*GPU_SPECS, None]).alias("gpu_spec"))


def _multigpu50(pods: pl.DataFrame, scale: float, rng: np.random.Generator) -> pl.DataFrame:
    """Return only the requests, of the default pods and of additional pods with several GPUs."""
    added = pl.DataFrame(_requests(rng.permutation(_several_gpus(ADDED_SEVERAL_GPUS, scale)), rng))
    return pl.concat([pods.select(added.columns), added])


def _shuffle(pods: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    return pods[rng.permutation(pods.height)]


SAMPLER = Sampler(write, lambda scale: round(BYTES * scale))
