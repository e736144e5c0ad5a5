"""Synthetic openb: two node lists and five pod lists of one GPU-sharing cluster.

Known pitfalls: `gpu_milli` is a share of one GPU, 1000 if a pod requests several, and 0 without one; only
pending pods have no scheduled time; one pod has no memory request; a few pods that begin early live long; a
name means another node or pod in each list, except in gpuspec33; `gpu_spec` has alternatives joined by ``|``,
one of which occurs twice; multigpu50 has five columns; variants are unsorted and repeat pods.
"""

import numpy as np
import polars as pl

from tracehouse.ingest.traces.openb.tables import NODE, POD
from tracehouse.samples import draw
from tracehouse.samples.from_declaration import row_count, sampled
from tracehouse.samples.output import Output

# At a smaller scale, some phases, classes or sizes would have no pod.
LEAST_SCALE = 0.02
# Number of nodes; and of each node: thousandths of a CPU, MiB of memory, GPUs, GPU model.
NODES = (
    (150, 32_000, 262_144, 0, None),
    (50, 64_000, 294_912, 0, None),
    (110, 96_000, 491_520, 0, None),
    (131, 24_000, 147_456, 2, "P100"),
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
# Pods by number of GPUs, in all lists and among the pods that multigpu50 adds.
GPUS = {0: 1_088, 1: 6_989, 2: 16, 4: 15, 8: 44}
ADDED_GPUS = {2: 206, 4: 191, 8: 512}
EARLY_PODS, FIRST_BUSY_S, LAST_CREATION_S, END_S = 19, 9_504_000, 12_901_761, 12_902_960


def write(out: Output, scale: float, rng: np.random.Generator) -> None:
    """Write the node and pod lists."""
    scale = max(scale, LEAST_SCALE)
    shapes = pl.DataFrame(NODES, ("nodes", "cpu_milli", "memory_mib", "gpu", "model"), orient="row")
    nodes = shapes[np.repeat(np.arange(len(NODES)), [draw.scaled(number, scale) for number, *_ in NODES])]
    lists = {"all_node": nodes, "gpu_node": nodes.filter(pl.col("gpu") > 0)}
    for name, rows in lists.items():
        out.add(NODE, _numbered(_shuffled(rows, rng), "sn", "openb-node-"), "csv", node_list=name)

    pods = _pods(scale, rng)
    on_gpu = pods.filter(pl.col("num_gpu") > 0)
    cpu_only = pods.filter(pl.col("num_gpu") == 0)
    sharing, exclusive = (
        on_gpu.filter(pl.col("gpu_milli").is_between(*range_)) for range_ in ((1, 999), (1000, 1000))
    )
    spec = pl.when(pl.Series(draw.pick(rng, pods["num_gpu"] > 0, on_gpu.height // 3))).then("gpu_spec")
    added = _requests(draw.scaled(sum(ADDED_GPUS.values()), scale, 12), ADDED_GPUS, rng)
    variants = {
        "default": pods.with_columns(gpu_spec=pl.lit(None, pl.String)),
        "cpu100": _shuffled(pl.concat([_again(cpu_only, cpu_only.height * 3 // 4, rng), on_gpu]), rng),
        "gpushare40": _shuffled(
            pl.concat(
                [
                    cpu_only,
                    _again(sharing, round(0.55 * on_gpu.height), rng),
                    _again(exclusive, round(0.45 * on_gpu.height), rng),
                ]
            ),
            rng,
        ),
        "gpuspec33": pods.with_columns(gpu_spec=spec),
        "multigpu50": pl.concat([pods.select(added.columns), added]),
    }
    for name, rows in variants.items():
        if name in ("cpu100", "gpushare40"):
            rows = rows.with_columns(gpu_spec=pl.lit(None, pl.String))
        out.add(POD, _numbered(rows, "name", "openb-pod-"), "csv", variant=name)


def _numbered(rows: pl.DataFrame, column: str, prefix: str) -> pl.DataFrame:
    """Add a column of names that end with the number of the row."""
    number = pl.int_range(pl.len()).cast(pl.String).str.zfill(4)
    return rows.with_columns((prefix + number).alias(column))


def _shuffled(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    return rows[rng.permutation(rows.height)]


def _again(pods: pl.DataFrame, count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw pods with replacement, one of them at least twice."""
    drawn = rng.integers(0, pods.height, count)
    drawn[-1] = drawn[0]
    return pods[drawn]


def _pods(scale: float, rng: np.random.Generator) -> pl.DataFrame:
    rows = sampled(POD, row_count(POD, scale), rng)
    pending = rows["pod_phase"].to_numpy() == "Pending"
    count, early = rows.height, draw.scaled(EARLY_PODS, scale, 2)
    later = draw.arrivals(rng, count - early, FIRST_BUSY_S, LAST_CREATION_S)
    creation = np.concatenate((draw.arrivals(rng, early, 0, FIRST_BUSY_S - 1), later))
    wait = draw.lognormal(rng, count, 2, 2.9).clip(max=14_330).astype(np.int64) * ~pending
    run = draw.lognormal(rng, count, np.where(pending, 94, 895), 1.7)
    run[:early] = END_S
    deletion = np.minimum(creation + wait + run.astype(np.int64), END_S)
    # A class has only some of the phases.
    classes = {
        "Succeeded": {"LS": 4, "Burstable": 1},
        "Pending": {"LS": 1, "BE": 1},
        "Failed": {"BE": 9, "LS": 1},
    }
    qos = rows["qos"].to_numpy()
    for phase, weights in classes.items():
        of_phase = rows["pod_phase"].to_numpy() == phase
        qos[of_phase] = draw.shares(rng, weights, int(of_phase.sum()))
    return _requests(count, GPUS, rng).with_columns(
        rows["gpu_spec"],
        rows["pod_phase"],
        qos=pl.Series(qos),
        creation_time=pl.Series(creation),
        deletion_time=pl.Series(deletion),
        scheduled_time=pl.Series(np.where(pending, np.nan, np.minimum(creation + wait, deletion))),
        # One pod has no memory request.
        memory_mib=pl.when(pl.int_range(pl.len()) == count // 2).then(0).otherwise("memory_mib"),
    )


def _requests(count: int, gpus: dict[int, int], rng: np.random.Generator) -> pl.DataFrame:
    """Draw the requests of pods that request numbers of GPUs with these weights."""
    rows = sampled(POD, count, rng).select("cpu_milli", "memory_mib", "gpu_milli")
    number = pl.Series("num_gpu", draw.shares(rng, gpus, count))
    milli = pl.when(number == 0).then(0).when(number > 1).then(1000).otherwise("gpu_milli")
    cpu = (pl.col("cpu_milli") * number.clip(1)).clip(upper_bound=120_000)
    return rows.with_columns(number, gpu_milli=milli, cpu_milli=cpu, memory_mib=cpu * pl.col("memory_mib"))
