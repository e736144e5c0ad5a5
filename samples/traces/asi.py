"""Synthetic ASI: servers, the pods on them hour by hour, network use, and execution spans.

Known pitfalls: pods without a GPU, with a fraction of a GPU, and GPU pods without a memory request; a
utilisation that is the sum over the GPUs; delays of -1; the state Unknown except on days 109 to 115; standby
pods; a pod with two rows in one hour; execution spans in steps of 20 s, some of which the trace cuts off.
Servers of the same model are at the same switches, network use depends on the kind of job, and a workload has
one kind of model.

A sample starts at day 109, where the publisher's figures start, or earlier if it has more than 76 days.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from tracehouse.ingest.traces import asi
from tracehouse.samples import draw
from tracehouse.samples.draw import Ints
from tracehouse.samples.from_declaration import sampled
from tracehouse.samples.output import Output

DEFAULT_DAYS = 2
LAST_DAY, FIRST_DAY, DAYS_IN_DETAIL, HOURS = 184, 109, range(109, 116), 24
SERVERS, LEAST_SERVERS, PODS_ON_SERVER, BYTES_PER_POD_HOUR = 37_707, 40, 31, 25
# Servers of the same model share switches, so that a switch can have a set of 128 free GPUs.
SERVERS_OF_SWITCH, SERVERS_OF_CLUSTER, PODS_OF_WORKLOAD = 32, 384, 12
SPAN_STEP_H, LONGEST_SPAN_H = 20 / 3600, 1_823.99
PART = "part-000.parquet"

# GPU model, GPUs, CPU cores, GPU memory in GiB, and the relative number of servers.
MODELS = (
    ("A10", 2, 128, 24, 30),
    ("XPU-B", 8, 192, 48, 13),
    ("L20", 4, 128, 48, 17),
    ("XPU-E", 16, 192, 96, 5),
    ("H20", 8, 192, 96, 8),
    ("XPU-A", 4, 128, 32, 8),
    ("XPU-D", 2, 128, 32, 8),
    ("XPU-C", 2, 192, 48, 7),
    ("A100", 8, 128, 80, 2),
    ("A800", 8, 128, 80, 1),
    ("H800", 8, 192, 80, 0.5),
    ("H20-141GB", 8, 192, 141, 0.5),
)
MODEL_COLUMNS = ("gpu_spec_public", "server_gpu_count", "server_cpu_capacity_cores", "gpu_gib", "weight")
NONE = {0.0: 1.0}
SMALL = {0.05: 4, 0.25: 8, 0.5: 12, 1.0: 70, 2.0: 5, 4.0: 1}
LARGE = {1.0: 30, 2.0: 12, 4.0: 14, 8.0: 40, 16.0: 4}
# Kinds of pods: share of the pods of an hour, priority and type of job; weights of the model types, in the
# order of the declaration; median lifetime in hours and its sigma; requested GPUs; share of standby pods.
KINDS = (
    (0.770, "Other", "unknown", (0, 0, 0, 0, 0, 1), (300, 1.0), NONE, 0.0),
    (0.157, "HP", "unknown", (0, 0, 0, 0, 0, 1), (300, 1.0), NONE, 0.0),
    (0.002, "Other", "other", (0, 0, 0, 0, 0, 1), (100, 1.0), SMALL, 0.0),
    (0.045, "HP", "online_inference", (40, 46, 8, 3, 0, 3), (120, 1.4), SMALL, 0.12),
    (0.003, "HP", "training", (55, 25, 10, 5, 0, 5), (4, 1.9), LARGE, 0.0),
    (0.001, "HP", "dev", (20, 10, 5, 0, 60, 5), (30, 1.5), SMALL, 0.0),
    (0.018, "LP", "offline_inference", (85, 5, 4, 3, 0, 3), (0.428, 1.85), SMALL, 0.0),
    (0.001, "LP", "training", (50, 25, 10, 5, 0, 10), (0.6, 1.85), LARGE, 0.0),
    (0.003, "LP", "unknown", (80, 5, 5, 5, 0, 5), (0.5, 1.85), SMALL, 0.0),
)
CORES_PER_GPU = {4.0: 15, 6.0: 10, 8.0: 40, 12.0: 20, 16.0: 15}
# Median network traffic of pods per requested GPU, by type of job, in GiB/s.
TRAFFIC = {"training": 0.4, "online_inference": 0.1, "offline_inference": 0.05}


def expected_bytes(scale: float, days: int) -> int:
    """Estimate the bytes of raw files in a sample."""
    servers = draw.scaled(SERVERS, scale, LEAST_SERVERS)
    return servers * PODS_ON_SERVER * HOURS * days * BYTES_PER_POD_HOUR


def write(out: Output, scale: float, rng: np.random.Generator, days: int) -> None:
    """Write the files of `days` days, in folders as in the publisher's ZIPs."""
    first = max(0, min(FIRST_DAY, LAST_DAY + 1 - days))
    servers = _servers(draw.scaled(SERVERS, scale, LEAST_SERVERS), rng)
    spans = []
    for now, present, live, new in _hours(servers, first, days, rng):
        day, hour = divmod(now, HOURS)
        rows = [(asi.POD_HOURLY, _pod_rows(live, now, servers, rng)), (asi.SERVER_HOURLY, servers[present])]
        if day in DAYS_IN_DETAIL:
            rows.append((asi.NETWORK_HOURLY, _network_rows(servers[present], live, rng)))
        for table, frame in rows:
            folder = f"asi_opensource_{table.name}"
            out.add(table, frame, folder, name=PART, day=str(day), hour=f"{hour:02d}")
        spans.append(new.filter(pl.col("gpu_request") > 0))
    # The publisher samples every 20 s, so spans are multiples of 20 s.
    steps = ((pl.col("end") - pl.col("begin")) / SPAN_STEP_H - 1e-6).ceil()
    summary = pl.concat(spans).with_columns(
        duration_hours=steps * SPAN_STEP_H, schedule_status=pl.col("ready_status").is_not_null()
    )
    out.add(asi.JOB_EXECUTION_SUMMARY, summary, "asi_opensource_job_execution_summary", name=PART)


def _servers(count: int, rng: np.random.Generator) -> pl.DataFrame:
    """Return the servers by number. A tenth of them join after day 0, at a share of all days."""
    models = pl.DataFrame(MODELS, MODEL_COLUMNS, orient="row")
    number = np.arange(count)
    switch = number // SERVERS_OF_SWITCH
    return models[np.sort(draw.spread(rng, count, models["weight"].to_numpy()))].with_columns(
        server_id=pl.Series(number),
        cluster_id=pl.Series(switch % max(2, count // SERVERS_OF_CLUSTER)),
        asw_id=pl.Series(np.where(rng.random(count) < 0.02, -1, switch)),
        gpu_count=pl.col("server_gpu_count"),
        cpu_capacity_cores=pl.col("server_cpu_capacity_cores"),
        joins_at=pl.Series(10 * (rng.random(count).clip(min=0.9) - 0.9)),
    )


def _hours(
    servers: pl.DataFrame, first: int, days: int, rng: np.random.Generator
) -> Iterator[tuple[int, Ints, pl.DataFrame, pl.DataFrame]]:
    """Yield each hour as its number since day 0, its servers, its pods, and its new pods."""
    live = None
    numbers = 0
    for now in range(first * HOURS, (first + days) * HOURS):
        present = np.flatnonzero(servers["joins_at"].to_numpy() * (LAST_DAY + 1) <= now / HOURS)
        live = live.filter(pl.col("end") > now) if live is not None else None
        new = _new_pods(live, numbers, now, present, servers, rng)
        numbers += new.height
        live = new if live is None else pl.concat([live, new])
        yield now, present, live, new


def _new_pods(
    live: pl.DataFrame | None,
    number: int,
    now: int,
    present: Ints,
    servers: pl.DataFrame,
    rng: np.random.Generator,
) -> pl.DataFrame:
    """Draw the pods that begin in an hour, so that each kind keeps its share."""
    share, priorities, job_types, model_weights, lifetimes, requests, standby = zip(*KINDS, strict=True)
    wanted = np.array(share) * len(present) * PODS_ON_SERVER
    running = 0 if live is None else np.bincount(live["kind"], minlength=len(KINDS))
    kind = np.repeat(np.arange(len(KINDS)), (wanted - running).clip(min=0).astype(np.int64))
    request, model_type = np.zeros(len(kind)), np.zeros(len(kind), np.int64)
    for place in range(len(KINDS)):
        of_kind = np.flatnonzero(kind == place)
        request[of_kind] = draw.shares(rng, requests[place], len(of_kind))
        model_type[of_kind] = draw.spread(rng, len(of_kind), model_weights[place])
    server = _draw_servers(live, request, present, servers, rng)
    fits = server >= 0
    kind, request, model_type, server = kind[fits], request[fits], model_type[fits], server[fits]
    count = len(kind)

    median, sigma = np.array(lifetimes)[kind].T
    lasts = draw.lognormal(rng, count, median, sigma).clip(max=LONGEST_SPAN_H)
    lasts = np.ceil(lasts / SPAN_STEP_H) * SPAN_STEP_H
    # Pods of the first hour began before it.
    begin = now + rng.random(count) if live is not None else now - rng.random(count) * lasts
    priority = np.array(priorities)[kind]
    workload = kind * 1_000_000 + (number + np.arange(count)) // PODS_OF_WORKLOAD
    _, first, of_workload = np.unique(workload, return_index=True, return_inverse=True)
    types = pl.Series(asi.MODEL_TYPES)[model_type[first][of_workload]]
    workload[rng.random(count) < np.where(priority == "LP", 0.95, 0.22)] = -1
    cores = np.ceil(request.clip(min=0.5) * draw.shares(rng, CORES_PER_GPU, count))
    memory = request * servers["gpu_gib"].to_numpy()[server] * 2.0**30
    memory[rng.random(count) < 0.01] = 0
    status_known = pl.Series(rng.random(count) > 0.0207)
    delays = sampled(asi.POD_HOURLY, count, rng).select("schedule_delay_sec", "ready_delay_sec")
    unknown = {"schedule_delay_sec": rng.random(count) < 1e-4, "ready_delay_sec": rng.random(count) < 0.284}
    return pl.DataFrame(
        {
            "pod_id": number + np.arange(count),
            "workload_id": workload,
            "server_id": server,
            "kind": kind,
            "priority_class": priority,
            "job_type_public": np.array(job_types)[kind],
            "model_type_public": types,
            "is_genai_request": types == "genai",
            "gpu_request": request,
            "cpu_request_cores": np.where(request > 0, cores, rng.integers(1, 9, count)),
            "gpu_mem_request": memory,
            "is_standby": rng.random(count) < np.array(standby)[kind],
            "begin": begin,
            "end": begin + lasts,
            "gpu_spec_public": servers["gpu_spec_public"][server],
            "ready_status": pl.Series(rng.random(count) > 0.06),
        }
    ).with_columns(
        pl.when(status_known).then("ready_status"),
        **{
            name: pl.when(~status_known)
            .then(None)
            .when(pl.Series(unknown[name]))
            .then(-1)
            .otherwise(delays[name])
            for name in unknown
        },
    )


def _draw_servers(
    live: pl.DataFrame | None,
    request: draw.Floats,
    present: Ints,
    servers: pl.DataFrame,
    rng: np.random.Generator,
) -> Ints:
    """Draw a server for each new pod; -1 if the drawn server has too few free GPUs for the pod."""
    free = servers["server_gpu_count"].to_numpy().astype(np.float64)
    if live is not None:
        holds = np.where(live["is_standby"], 0, live["gpu_request"])
        free -= np.bincount(live["server_id"], holds, len(free))
    server = present[rng.integers(0, len(present), len(request))]
    needs = np.flatnonzero(request > 0)
    weights = free[present].clip(min=0) + 1e-9
    server[needs] = present[np.searchsorted(np.cumsum(weights), rng.random(len(needs)) * weights.sum())]
    order = needs[np.lexsort((request[needs], server[needs]))]
    total = np.cumsum(request[order])
    starts = np.flatnonzero(np.diff(server[order], prepend=-1))
    before = np.repeat(total[starts] - request[order][starts], np.diff(starts, append=len(order)))
    server[order[total - before > free[server[order]] + 1e-6]] = -1
    return server


def _pod_rows(live: pl.DataFrame, now: int, servers: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """Return the rows of the pods of an hour, in random order."""
    pods = live[rng.permutation(live.height)]
    if now % HOURS == 0:
        # A pod that moved has two rows.
        moved = pods[:1].with_columns(pods["server_id"].filter(pods["server_id"] != pods["server_id"][0])[:1])
        pods = pl.concat([pods, moved])
    count, is_gpu = pods.height, pl.col("gpu_request") > 0

    def known(share: float) -> pl.Series:
        return pl.Series(rng.random(count) < share)

    drawn = sampled(asi.POD_HOURLY, count, rng).select("avg_gpu_sm_util", "avg_cpu_request_util")
    held = pl.min_horizontal("end", pl.lit(now + 1)) - pl.max_horizontal("begin", pl.lit(now))
    memory = pl.Series(np.where(rng.random(count) < 0.001, -0.998, rng.beta(2, 3, count) * 1.4998))
    gib = pl.col("gpu_mem_request") / 2**30 * pl.Series(rng.beta(2, 2, count))
    luck, ends = pl.Series(rng.random(count)), pl.col("end") < now + 1
    state = (
        pl.when(now // HOURS not in DAYS_IN_DETAIL)
        .then(pl.lit("Unknown"))
        .when("is_standby")
        .then(pl.lit("Standby"))
        .when(luck < 0.02)
        .then(pl.lit("Unknown"))
        .when(luck > 0.995)
        .then(pl.lit("Pending"))
        .when(ends & (luck < 0.2))
        .then(pl.lit("Failed"))
        .when(ends)
        .then(pl.lit("Succeeded"))
        .otherwise(pl.lit("Running"))
    )
    of_server = servers.select("cluster_id", "server_gpu_count", "server_cpu_capacity_cores")
    return pods.hstack(of_server[pods["server_id"]]).with_columns(
        state_public=state,
        used_gpu_hours=held * pl.col("gpu_request"),
        avg_gpu_sm_util=pl.when(is_gpu & known(0.83)).then(drawn["avg_gpu_sm_util"] * pl.col("gpu_request")),
        avg_gpu_mem_gib=pl.when(is_gpu & known(0.97)).then(gib),
        avg_cpu_request_util=pl.when(known(0.97)).then(drawn["avg_cpu_request_util"]),
        avg_memory_util=pl.when(known(0.988)).then(memory),
    )


def _network_rows(present: pl.DataFrame, live: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    traffic = (
        live["job_type_public"].replace_strict(TRAFFIC, default=0.0).to_numpy()
        * live["gpu_request"].to_numpy()
    )
    server = present["server_id"].to_numpy()
    median = pl.Series(0.02 + np.bincount(live["server_id"], traffic, server.max() + 1)[server])
    rows = sampled(asi.NETWORK_HOURLY, present.height, rng)
    return rows.with_columns(present["server_id"], pl.col("rx_gibps_avg", "tx_gibps_avg") * median)
