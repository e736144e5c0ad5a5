"""Synthetic ASI: servers, the pods on them hour by hour, network use, and execution spans.

The sample has the properties of the original that views and caveats are about:

- The shares of GPU models, priorities, kinds of jobs and models, and missing values of the published files.
- Most pods exist for many hours, so that a day has few new identifiers. The fleet grows.
- Pods without a GPU, pods with a fraction of a GPU, and GPU pods without a memory request. The utilisation of
  a pod is the sum over its GPUs.
- Servers of the same model at the same switches. Network use depends on the kind of job, and a workload has
  one kind of model.
- Delays of -1, the state Unknown on day 0, standby pods, and a pod with two rows in one hour.
- Execution spans in steps of 20 s, some of which the trace cuts off.

Everything else is invented. A sample starts at day 109, where the publisher's figures start, or earlier if it
has more than 76 days.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracehouse.ingest.traces import asi
from tracehouse.samples import Sampler, draw
from tracehouse.samples.draw import Bools, Floats, Ints
from tracehouse.samples.files import OnBytes, write_parquet

LAST_DAY, FIRST_DAY, NETWORK_DAYS = 184, 109, range(109, 116)
HOURS = 24
SERVERS, LEAST_SERVERS, PODS_ON_SERVER = 37_707, 40, 31
BYTES_PER_POD_HOUR = 25
# Servers of the same model share switches, so that a switch can have a set of 128 free GPUs.
SERVERS_OF_SWITCH, SWITCHES_OF_CLUSTER, LEAST_CLUSTERS = 32, 12, 2
NO_SWITCH_SHARE = 0.02
# The share of servers that exist from day 0 on.
FIRST_SERVERS_SHARE = 0.9

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


@dataclass(frozen=True)
class Kind:
    """A kind of pod: its share of the pods of an hour, its priority, its types and its requested GPUs.

    `models` are the relative numbers of the model types, in the order of the declaration. `lifetime_h` is the
    median in hours, and the standard deviation of the logarithm. `requests` are the requested GPUs and their
    relative numbers of pods. `standby` is the share of standby pods.
    """

    share: float
    priority: str
    job_type: str
    models: tuple[float, ...]
    lifetime_h: tuple[float, float]
    requests: Mapping[float, float]
    standby: float = 0.0


NONE = {0.0: 1.0}
SMALL = {0.05: 4, 0.25: 8, 0.5: 12, 1.0: 70, 2.0: 5, 4.0: 1}
LARGE = {1.0: 30, 2.0: 12, 4.0: 14, 8.0: 40, 16.0: 4}
KINDS = (
    Kind(0.770, "Other", "unknown", (0, 0, 0, 0, 0, 1), (300, 1.0), NONE),
    Kind(0.157, "HP", "unknown", (0, 0, 0, 0, 0, 1), (300, 1.0), NONE),
    Kind(0.002, "Other", "other", (0, 0, 0, 0, 0, 1), (100, 1.0), SMALL),
    Kind(0.045, "HP", "online_inference", (40, 46, 8, 3, 0, 3), (120, 1.4), SMALL, 0.12),
    Kind(0.003, "HP", "training", (55, 25, 10, 5, 0, 5), (4, 1.9), LARGE),
    Kind(0.001, "HP", "dev", (20, 10, 5, 0, 60, 5), (30, 1.5), SMALL),
    Kind(0.018, "LP", "offline_inference", (85, 5, 4, 3, 0, 3), (0.428, 1.85), SMALL),
    Kind(0.001, "LP", "training", (50, 25, 10, 5, 0, 10), (0.6, 1.85), LARGE),
    Kind(0.003, "LP", "unknown", (80, 5, 5, 5, 0, 5), (0.5, 1.85), SMALL),
)
CORES_PER_GPU = {4.0: 15, 6.0: 10, 8.0: 40, 12.0: 20, 16.0: 15}
# Network traffic in GiB/s: of pods per requested GPU by type of job, and the least of a server.
TRAFFIC = {"training": 0.4, "online_inference": 0.1, "offline_inference": 0.05}
LEAST_TRAFFIC, NO_TRAFFIC_SHARE = 0.02, 0.01
SPAN_STEP_H, LONGEST_SPAN_H = 20 / 3600, 1_823.99

LP_WORKLOAD_MISSING, WORKLOAD_MISSING, PODS_OF_WORKLOAD = 0.95, 0.22, 12
NO_MEMORY_REQUEST_SHARE = 0.01
SM_UTIL, SM_UTIL_MISSING, GPU_MEMORY_MISSING = (4.6, 2.4), 0.17, 0.03
CPU_UTIL, CPU_UTIL_MISSING, MOST_CPU_UTIL = (0.2, 1.4), 0.03, 3_072.0
MEMORY_UTIL_MISSING, MEMORY_UTIL_NEGATIVE, LEAST_MEMORY_UTIL, MOST_MEMORY_UTIL = 0.012, 0.001, -0.998, 1.4998
STATUS_MISSING, NOT_READY = 0.0207, 0.06
NO_DELAY, DELAY, READY_DELAY, UNKNOWN_DELAY, UNKNOWN_READY_DELAY = 0.6, (60, 2.3), (20, 1.2), 0.0001, 0.284
MOST_DELAY_S = 86_399
UNKNOWN_STATE, PENDING_STATE = 0.02, 0.005


@dataclass(frozen=True)
class Servers:
    """The servers: position of the model in `MODELS`, cluster, and switch (-1 if unknown).

    `joins_at` is the share of all days that pass before a server exists.
    """

    model: Ints
    cluster: Ints
    switch: Ints
    joins_at: Floats


@dataclass(frozen=True)
class Pods:
    """Pods, with their values that are the same in all hours; `begin` and `end` are hours since day 0."""

    number: Ints
    kind: Ints
    server: Ints
    workload: Ints
    model_type: Ints
    request: Floats
    cores: Floats
    memory: Floats
    is_standby: Bools
    begin: Floats
    end: Floats
    status: Ints
    schedule_delay: Ints
    ready_delay: Ints

    def __getitem__(self, rows: Bools | Ints) -> "Pods":
        return Pods(*(getattr(self, field.name)[rows] for field in fields(self)))


def _write(days: int, folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write the files of `days` days below `folder`, as in the publisher's ZIPs, and return the paths."""
    seed = int(rng.integers(2**31))
    first = max(0, min(FIRST_DAY, LAST_DAY + 1 - days))
    servers = _servers(max(LEAST_SERVERS, round(SERVERS * scale)), rng)
    written: list[Path] = []
    spans: list[Pods] = []

    def put(table: str, frame: pl.DataFrame, day: int | None = None, hour: int = 0) -> None:
        below = folder / f"asi_opensource_{table}"
        hourly = below if day is None else below / f"day={day}" / f"hour={hour:02d}"
        written.append(write_parquet(hourly / "part-000.parquet", frame, on_bytes))

    for now, present, live, new in _hours(servers, first, days, rng):
        day, hour = divmod(now, HOURS)
        put("pod_hourly", _pod_rows(live, now, servers, rng, seed), day, hour)
        put("server_hourly", _server_rows(present, servers, seed), day, hour)
        if day in NETWORK_DAYS:
            put("network_hourly", _network_rows(present, live, rng, seed), day, hour)
        spans.append(new[new.request > 0])
    put("job_execution_summary", _span_rows(_concatenate(spans), servers, seed))
    return written


def _servers(count: int, rng: np.random.Generator) -> Servers:
    number = np.arange(count)
    switch = number // SERVERS_OF_SWITCH
    clusters = max(LEAST_CLUSTERS, count // (SERVERS_OF_SWITCH * SWITCHES_OF_CLUSTER))
    joins_at = rng.random(count).clip(min=FIRST_SERVERS_SHARE) - FIRST_SERVERS_SHARE
    return Servers(
        np.sort(draw.shares(rng, {place: model[4] for place, model in enumerate(MODELS)}, count)),
        switch % clusters,
        np.where(rng.random(count) < NO_SWITCH_SHARE, -1, switch),
        joins_at / (1 - FIRST_SERVERS_SHARE),
    )


def _hours(
    servers: Servers, first: int, days: int, rng: np.random.Generator
) -> Iterator[tuple[int, Ints, Pods, Pods]]:
    """Yield each hour as its number since day 0, its servers, its pods, and its new pods."""
    live = _concatenate([])
    numbers = 0
    for now in range(first * HOURS, (first + days) * HOURS):
        present = np.flatnonzero(servers.joins_at * (LAST_DAY + 1) <= now / HOURS)
        live = live[live.end > now]
        new = _new_pods(live, numbers, now, now == first * HOURS, present, servers, rng)
        numbers += len(new.number)
        live = _concatenate([live, new])
        yield now, present, live, new


def _new_pods(
    live: Pods,
    number: int,
    now: int,
    is_first: bool,
    present: Ints,
    servers: Servers,
    rng: np.random.Generator,
) -> Pods:
    """Draw the pods that begin in an hour, so that each kind keeps its share."""
    wanted = np.array([kind.share for kind in KINDS]) * len(present) * PODS_ON_SERVER
    missing = (wanted - np.bincount(live.kind, minlength=len(KINDS))).clip(min=0).astype(np.int64)
    kind = np.repeat(np.arange(len(KINDS)), missing)
    count = len(kind)
    request, model_type = np.zeros(count), np.zeros(count, np.int64)
    for place, one in enumerate(KINDS):
        of_kind = np.flatnonzero(kind == place)
        request[of_kind] = draw.shares(rng, one.requests, len(of_kind))
        model_type[of_kind] = draw.shares(rng, dict(enumerate(one.models)), len(of_kind))
    server = _draw_servers(live, request, present, servers, rng)
    fits = server >= 0
    kind, request, model_type, server = kind[fits], request[fits], model_type[fits], server[fits]
    count = len(kind)

    median, sigma = np.array([one.lifetime_h for one in KINDS])[kind].T
    lasts = draw.lognormal(rng, count, median, sigma).clip(max=LONGEST_SPAN_H)
    lasts = np.ceil(lasts / SPAN_STEP_H) * SPAN_STEP_H
    begin = now + rng.random(count)
    if is_first:
        # Pods of the first hour began before it.
        begin = now - rng.random(count) * lasts
    is_low = np.array([one.priority == "LP" for one in KINDS])[kind]
    workload = kind * 1_000_000 + (number + np.arange(count)) // PODS_OF_WORKLOAD
    _, first, of_workload = np.unique(workload, return_index=True, return_inverse=True)
    model_type = model_type[first][of_workload]
    workload[rng.random(count) < np.where(is_low, LP_WORKLOAD_MISSING, WORKLOAD_MISSING)] = -1
    cores = np.ceil(request.clip(min=0.5) * draw.shares(rng, CORES_PER_GPU, count))
    memory = request * np.array([model[3] for model in MODELS])[servers.model[server]] * 2.0**30
    memory[rng.random(count) < NO_MEMORY_REQUEST_SHARE] = 0.0
    status = np.where(rng.random(count) < NOT_READY, 0, 1)
    status[rng.random(count) < STATUS_MISSING] = -1
    delay = np.floor(draw.lognormal(rng, count, *DELAY)).clip(max=MOST_DELAY_S)
    delay[rng.random(count) < NO_DELAY] = 0
    delay[rng.random(count) < UNKNOWN_DELAY] = -1
    ready = np.floor(draw.lognormal(rng, count, *READY_DELAY)).clip(max=MOST_DELAY_S)
    ready[rng.random(count) < UNKNOWN_READY_DELAY] = -1
    return Pods(
        number + np.arange(count),
        kind,
        server,
        workload,
        model_type,
        request,
        np.where(request > 0, cores, rng.integers(1, 9, count)).astype(np.float64),
        memory,
        rng.random(count) < np.array([one.standby for one in KINDS])[kind],
        begin,
        begin + lasts,
        status,
        delay.astype(np.int64),
        ready.astype(np.int64),
    )


def _draw_servers(
    live: Pods, request: Floats, present: Ints, servers: Servers, rng: np.random.Generator
) -> Ints:
    """Draw a server for each new pod; -1 if the drawn server has too few free GPUs for the pod."""
    gpus = np.array([model[1] for model in MODELS])[servers.model].astype(np.float64)
    free = gpus - np.bincount(live.server, np.where(live.is_standby, 0, live.request), len(gpus))
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


def _concatenate(parts: list[Pods]) -> Pods:
    """Concatenate parts; without parts, return no pods."""
    columns: dict[str, Any] = {
        field.name: np.concatenate(
            [np.empty(0, _DTYPES.get(field.name, np.int64)), *(getattr(part, field.name) for part in parts)]
        )
        for field in fields(Pods)
    }
    return Pods(**columns)


_DTYPES: dict[str, Any] = dict.fromkeys(("request", "cores", "memory", "begin", "end"), np.float64) | {
    "is_standby": np.bool_
}


def _pod_rows(live: Pods, now: int, servers: Servers, rng: np.random.Generator, seed: int) -> pl.DataFrame:
    """Return the rows of the pods of an hour, in random order."""
    rows = rng.permutation(len(live.number))
    if now % HOURS == 0:
        # A pod that moved has two rows.
        rows = np.append(rows, rows[0])
    pods = live[rows]
    if now % HOURS == 0:
        pods.server[-1] = pods.server[pods.server != pods.server[-1]][0]
    count = len(rows)
    is_gpu = pods.request > 0
    used = (np.minimum(pods.end, now + 1) - np.maximum(pods.begin, now)) * pods.request
    busy = np.minimum(draw.lognormal(rng, count, *SM_UTIL) * pods.request, 100 * pods.request)
    busy[~is_gpu | (rng.random(count) < SM_UTIL_MISSING)] = np.nan
    memory = pods.memory / 2**30 * rng.beta(2, 2, count)
    memory[~is_gpu | (rng.random(count) < GPU_MEMORY_MISSING)] = np.nan
    cpu = draw.lognormal(rng, count, *CPU_UTIL).clip(max=MOST_CPU_UTIL)
    cpu[rng.random(count) < CPU_UTIL_MISSING] = np.nan
    main = rng.beta(2, 3, count) * MOST_MEMORY_UTIL
    main[rng.random(count) < MEMORY_UTIL_NEGATIVE] = LEAST_MEMORY_UTIL
    main[rng.random(count) < MEMORY_UTIL_MISSING] = np.nan
    columns = _kind_columns(pods, servers, seed) | {
        "cluster_id": draw.hex_ids(servers.cluster[pods.server], draw.salt_of(seed, "cluster"), 32),
        "state_public": draw.labels(_states(pods, now, rng), asi.STATES),
        "server_gpu_count": _model_numbers(1, pods.server, servers),
        "server_cpu_capacity_cores": _model_numbers(2, pods.server, servers),
        "gpu_mem_request": draw.whole(pods.memory.astype(np.int64)),
        "cpu_request_cores": draw.floats(pods.cores),
        "used_gpu_hours": draw.floats(used),
        "avg_gpu_sm_util": draw.floats(busy),
        "avg_gpu_mem_gib": draw.floats(memory),
        "avg_cpu_request_util": draw.floats(cpu),
        "avg_memory_util": draw.floats(main),
    }
    return _order_columns(asi.POD_HOURLY, columns)


def _states(pods: Pods, now: int, rng: np.random.Generator) -> Ints:
    """Draw the state of each pod in an hour, as a position in the states of the declaration."""
    if now < HOURS:
        return np.full(len(pods.number), asi.STATES.index("Unknown"))
    luck = rng.random(len(pods.number))
    state = np.full(len(pods.number), asi.STATES.index("Running"))
    state[pods.end < now + 1] = asi.STATES.index("Succeeded")
    state[(pods.end < now + 1) & (luck < 0.2)] = asi.STATES.index("Failed")
    state[luck > 1 - PENDING_STATE] = asi.STATES.index("Pending")
    state[luck < UNKNOWN_STATE] = asi.STATES.index("Unknown")
    state[pods.is_standby] = asi.STATES.index("Standby")
    return state


def _kind_columns(pods: Pods, servers: Servers, seed: int) -> dict[str, pl.Series]:
    """Return the columns that the tables of pods and of spans have in common."""
    is_genai = pods.model_type == asi.MODEL_TYPES.index("genai")
    return {
        "pod_id": draw.hex_ids(pods.number, draw.salt_of(seed, "pod"), 32),
        "workload_id": draw.hex_ids(pods.workload, draw.salt_of(seed, "workload"), 32, pods.workload < 0),
        "server_id": draw.hex_ids(pods.server, draw.salt_of(seed, "server"), 32),
        "gpu_spec_public": draw.labels(servers.model[pods.server], [model[0] for model in MODELS]),
        "priority_class": draw.labels(pods.kind, [kind.priority for kind in KINDS]),
        "job_type_public": draw.labels(pods.kind, [kind.job_type for kind in KINDS]),
        "model_type_public": draw.labels(pods.model_type, asi.MODEL_TYPES),
        "is_genai_request": pl.Series(np.asarray(is_genai)),
        "gpu_request": draw.floats(pods.request),
        "ready_status": draw.set_nulls(pl.Series(pods.status == 1), pods.status < 0),
        "schedule_delay_sec": draw.whole(pods.schedule_delay, pods.status < 0),
        "ready_delay_sec": draw.whole(pods.ready_delay, pods.status < 0),
    }


def _server_rows(present: Ints, servers: Servers, seed: int) -> pl.DataFrame:
    switch = servers.switch[present]
    columns = {
        "server_id": draw.hex_ids(present, draw.salt_of(seed, "server"), 32),
        "cluster_id": draw.hex_ids(servers.cluster[present], draw.salt_of(seed, "cluster"), 32),
        "asw_id": draw.hex_ids(switch, draw.salt_of(seed, "switch"), 32, switch < 0),
        "gpu_spec_public": draw.labels(servers.model[present], [model[0] for model in MODELS]),
        "gpu_count": _model_numbers(1, present, servers),
        "cpu_capacity_cores": _model_numbers(2, present, servers),
    }
    return _order_columns(asi.SERVER_HOURLY, columns)


def _network_rows(present: Ints, live: Pods, rng: np.random.Generator, seed: int) -> pl.DataFrame:
    per_gpu = np.array([TRAFFIC.get(kind.job_type, 0.0) for kind in KINDS])[live.kind]
    median = LEAST_TRAFFIC + np.bincount(live.server, per_gpu * live.request, present.max() + 1)[present]

    def traffic() -> pl.Series:
        found = draw.lognormal(rng, len(present), median, 1.2)
        found[rng.random(len(present)) < NO_TRAFFIC_SHARE] = 0.0
        return draw.floats(found)

    columns = {
        "server_id": draw.hex_ids(present, draw.salt_of(seed, "server"), 32),
        "rx_gibps_avg": traffic(),
        "tx_gibps_avg": traffic(),
    }
    return _order_columns(asi.NETWORK_HOURLY, columns)


def _span_rows(pods: Pods, servers: Servers, seed: int) -> pl.DataFrame:
    # The publisher samples every 20 s, so spans are multiples of 20 s.
    lasted = np.ceil((pods.end - pods.begin) / SPAN_STEP_H - 1e-6) * SPAN_STEP_H
    columns = _kind_columns(pods, servers, seed) | {
        "duration_hours": draw.floats(lasted),
        "schedule_status": pl.Series(pods.status >= 0),
    }
    return _order_columns(asi.JOB_EXECUTION_SUMMARY, columns)


def _model_numbers(place: int, server: Ints, servers: Servers) -> pl.Series:
    """Return a number of the model of each server: field `place` of `MODELS`."""
    return draw.whole(np.array([model[place] for model in MODELS])[servers.model[server]])


def _order_columns(table: asi.Table, columns: dict[str, pl.Series]) -> pl.DataFrame:
    return pl.DataFrame({column.name: columns[column.name] for column in table.columns})


def of_days(days: int) -> Sampler:
    """Return the sampler for a number of days."""
    return Sampler(partial(_write, days), partial(_expected_bytes, days), of_days)


def _expected_bytes(days: int, scale: float) -> int:
    return round(max(LEAST_SERVERS, SERVERS * scale) * PODS_ON_SERVER * HOURS * days * BYTES_PER_POD_HOUR)


SAMPLER = of_days(2)
