"""Requests of LLM inference services and the questions on them, computed from the raw files alone.

Each question is a function of the requests of one workload, in the order of their arrival. `per_workload`
makes it a function of the raw folder and of the only trace to return, or None.
"""

import json
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from functools import partial, wraps
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import raw_frames

from reference_results.unified import PERCENTILES, percent
from tracehouse.ingest.declare.trace import Trace, all_traces

COLUMNS = ["trace", "workload", "model", "session_id", "request_number", "arrival_s", "local_arrival_s"]
COLUMNS += ["input_tokens", "output_tokens", "latency_s", "status", "prefix_blocks", "block_tokens"]
NUMBERS = ["request_number", "arrival_s", "local_arrival_s", "input_tokens", "output_tokens", "latency_s"]
TOKENS = ["input_tokens", "output_tokens"]
WORKLOAD = ["trace", "workload"]
# The publisher's clock is 78 days less 7 hours slow.
GENAI_OFFSET_S = 78 * 86_400 - 7 * 3_600
GENAI_STATUS = {"SUCCEED": "completed", "FAILED": "failed"}
CACHE_BLOCKS = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
AGES_S = (1, 10, 60, 600, 3_600, 86_400)


# The raw files. The function of a trace yields the requests of each file.


def seconds(times: pd.Series) -> pd.Series:
    """Return seconds since 1970, with microseconds, of times without a zone."""
    return pd.to_datetime(times, format="ISO8601").astype("datetime64[us]").astype("int64") / 1e6


def azure_llm(folder: Path) -> Iterator[pd.DataFrame]:
    columns = {"ContextTokens": "input_tokens", "GeneratedTokens": "output_tokens"}
    for path in folder.rglob("AzureLLMInferenceTrace_*.csv"):
        found = pd.read_csv(path).rename(columns=columns)
        workload = path.stem.removeprefix("AzureLLMInferenceTrace_")
        yield found.assign(arrival_s=seconds(found["TIMESTAMP"]), workload=workload, status="unknown")


def json_lines(path: Path, workload: str, ticks_per_s: int, block_tokens: int) -> pd.DataFrame:
    found = pd.DataFrame([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    columns = {"input_length": "input_tokens", "output_length": "output_tokens", "hash_ids": "prefix_blocks"}
    found = found.rename(columns=columns).assign(workload=workload, status="unknown")
    return found.assign(arrival_s=found["timestamp"] / ticks_per_s, block_tokens=block_tokens)


def mooncake(folder: Path) -> Iterator[pd.DataFrame]:
    for path in folder.rglob("*_trace.jsonl"):
        yield json_lines(path, path.stem.removesuffix("_trace"), 1_000, 512)


def qwen(folder: Path) -> Iterator[pd.DataFrame]:
    for path in folder.rglob("qwen_*_blksz_16.jsonl"):
        yield json_lines(path, path.stem.removeprefix("qwen_").removesuffix("_blksz_16"), 1, 16)


def burstgpt(folder: Path) -> Iterator[pd.DataFrame]:
    """Read the files with failures, in which a failed request has no tokens in its response."""
    columns = {"Timestamp": "arrival_s", "Request tokens": "input_tokens", "Response tokens": "output_tokens"}
    columns |= {
        "Elapsed time": "latency_s",
        "Model": "model",
        "Log Type": "workload",
        "Session ID": "session_id",
    }
    for path in folder.rglob("BurstGPT_[123].csv"):
        found = raw_frames.read_text_table(path.read_bytes())
        found = found.rename(columns=columns)
        found = raw_frames.with_numbers(found, [name for name in found if name in NUMBERS])
        status = np.where(found["output_tokens"] == 0, "failed", "completed")
        # No part covers the 104 days between parts 2 and 3.
        days = np.where(found["arrival_s"] > 180 * 86_400, ", days 225 to 335", ", days 0 to 121")
        workload = found["workload"] + days
        yield found.assign(workload=workload, local_arrival_s=found["arrival_s"], status=status)


def genai(folder: Path) -> Iterator[pd.DataFrame]:
    columns = {"exec_time_seconds": "latency_s", "checkpoint_model_version_id": "model"}
    for path in folder.rglob("lora_request_trace.tar.gz"):
        [text] = raw_frames.csv_members(path.read_bytes()).values()
        found = raw_frames.read_text_table(text).rename(columns=columns)
        arrival_s, status = seconds(found["gmt_create"]), found["predict_status"].map(GENAI_STATUS)
        found = found.assign(arrival_s=arrival_s, local_arrival_s=arrival_s + GENAI_OFFSET_S)
        yield found.assign(status=status.fillna("unknown"))


def as_declared(trace: Trace, folder: Path) -> Iterator[pd.DataFrame]:
    """Read the requests of a trace that has no function above, by the columns that it declares."""
    declared = trace.requests
    assert declared
    table = trace.table(declared.table)
    at, clock = table.column(declared.at), trace.clock_of(table.column(declared.at))
    fields = {"workload": declared.workload, "model": declared.model, "session_id": declared.session}
    fields |= {"input_tokens": declared.input, "output_tokens": declared.output}
    fields |= {"latency_s": declared.latency, "prefix_blocks": declared.prefix_blocks}
    outcomes = {"failed": declared.failed or "false", "completed": declared.completed or "false"}
    status = " ".join(f"when {is_so} then '{outcome}'" for outcome, is_so in outcomes.items())
    for path in sorted(folder.rglob("*")):
        keys = table.key_values(path.name, path.parent.name) if path.is_file() else None
        if keys is None:
            continue
        found = pd.read_json(path, lines=True) if path.suffix == ".jsonl" else pd.read_csv(path)
        found = found.assign(**keys)
        frame = duckdb.sql(f"select case {status} else 'unknown' end as status from found").df()
        for name, column in fields.items():
            frame[name] = found[column] if column else None
        for name in ("workload", "model", "session_id"):
            frame[name] = frame[name].astype(str).where(frame[name].notna(), None)
        is_text = at.type.startswith("TIMESTAMP")
        frame["arrival_s"] = (
            seconds(found[at.name]) if is_text else found[at.name] / (1_000 if at.unit == "ms" else 1)
        )
        if clock and clock.local_offset_s is not None:
            frame["local_arrival_s"] = frame["arrival_s"] * clock.scale + clock.local_offset_s
        yield frame.assign(block_tokens=declared.block_tokens)


def has_numbers(name: str) -> bool:
    """Return whether the rows of a trace have their position in the file."""
    trace = all_traces().get(name)
    return not (trace and trace.requests) or trace.table(trace.requests.table).row_number != ""


@raw_frames.remembered
def all_requests(raw: Path) -> pd.DataFrame:
    """Return the rows of `unified.requests` in the order of their values, with missing values last."""
    frames = [pd.DataFrame(columns=COLUMNS)]
    by_hand = {read.__name__: read for read in (azure_llm, burstgpt, genai, mooncake, qwen)}
    others = {name: partial(as_declared, trace) for name, trace in all_traces().items() if trace.requests}
    for name, read in (others | by_hand).items():
        for found in read(raw / name):
            number = np.arange(1, len(found) + 1) if has_numbers(name) else None
            found = found.assign(trace=name, request_number=number)
            frames.append(found.reindex(columns=COLUMNS).astype(object))
    found = pd.concat(frames, ignore_index=True).astype(dict.fromkeys(NUMBERS, float))
    return found.sort_values([name for name in COLUMNS if name != "prefix_blocks"], ignore_index=True)


# The questions.


def per_workload(compute: Callable[..., pd.DataFrame]) -> Callable[..., pd.DataFrame]:
    """Compute the rows of each trace and workload, and put these names before the other columns."""

    @wraps(compute)
    def computed(raw: Path, in_trace: str | None = None, *arguments: float) -> pd.DataFrame:
        requests = all_requests(raw).dropna(subset="arrival_s")
        # The windows of all workloads of a trace begin at the first arrival in the trace.
        requests["origin_s"] = requests.groupby("trace")["arrival_s"].transform("min")
        frames = []
        for (trace, workload), found in requests.groupby(WORKLOAD, dropna=False):
            if in_trace in (None, trace):
                in_order = found.sort_values(["arrival_s", "request_number"], kind="stable")
                rows = compute(in_order, *arguments).astype(object)
                rows.insert(0, "trace", trace)
                rows.insert(1, "workload", None if pd.isna(workload) else workload)
                frames.append(rows)
        return pd.concat(frames, ignore_index=True)

    return computed


def without_failures(requests: pd.DataFrame) -> pd.DataFrame:
    return requests[requests["status"] != "failed"]


def window_length(requests: pd.DataFrame, window_s: float | None) -> float:
    """Return a window's length in seconds: the given one, or one that suits the span of the workload."""
    span_s = np.ptp(requests["arrival_s"])
    limits = {60: 86_400, 600: 864_000, 3_600: 5_184_000}
    return window_s or next((length for length, most in limits.items() if span_s <= most), 86_400)


def windows(requests: pd.DataFrame, window_s: float) -> np.ndarray:
    """Return the number of the window of each request, from 0 in the window of the first."""
    on_grid = np.floor((requests["arrival_s"] - requests["origin_s"]) / window_s).astype(int)
    return (on_grid - on_grid.min()).to_numpy()


def token_sums(requests: pd.DataFrame, groups: np.ndarray, count: int) -> dict[str, np.ndarray | None]:
    """Return the sums of tokens in the groups 0 to `count` - 1, or None if no request has the value."""
    return {
        name: np.bincount(groups, requests[name].fillna(0), count) if requests[name].notna().any() else None
        for name in TOKENS
    }


@per_workload
def request_summary(requests: pd.DataFrame) -> pd.DataFrame:
    outcomes = Counter(requests["status"])
    row = {
        "requests": len(requests),
        "span_s": np.ptp(requests["arrival_s"]),
        "mean_input_tokens": requests["input_tokens"].mean(),
        "mean_output_tokens": requests["output_tokens"].mean(),
        "failed_pct": percent(outcomes["failed"], outcomes["failed"] + outcomes["completed"]),
        "with_prefix_pct": percent(requests["prefix_blocks"].count(), len(requests)),
    }
    return pd.DataFrame([row])


@per_workload
def request_arrivals(requests: pd.DataFrame, window_s: float | None = None) -> pd.DataFrame:
    window_s = window_length(requests, window_s)
    window = windows(requests, window_s)
    counts = np.bincount(window)
    starts = np.arange(len(counts)) * window_s
    columns = {"window_start_s": starts, "window_length_s": window_s, "requests": counts}
    columns["requests_per_s"] = counts / window_s
    return pd.DataFrame(columns | token_sums(requests, window, len(counts)))


@per_workload
def request_burstiness(requests: pd.DataFrame, window_s: float = 60) -> pd.DataFrame:
    gaps = np.diff(requests["arrival_s"])
    since_s = requests["arrival_s"] - requests["origin_s"]
    # The first request may arrive within a window, and the last one always does.
    counts = np.bincount(windows(requests, window_s))[int(since_s.min() % window_s > 0) : -1]
    mean_gap_s = gaps.mean() if len(gaps) else None
    row = {
        "requests": len(requests),
        "span_s": np.ptp(requests["arrival_s"]),
        "mean_gap_s": mean_gap_s,
        "gap_cv": gaps.std() / mean_gap_s if mean_gap_s else None,
        "windows": len(counts),
        "dispersion": counts.var() / counts.mean() if counts.any() else None,
        "idle_windows": (counts == 0).sum(),
        "busiest_window_requests": counts.max() if counts.any() else None,
    }
    return pd.DataFrame([row])


@per_workload
def token_percentiles(requests: pd.DataFrame) -> pd.DataFrame:
    tokens = without_failures(requests)[TOKENS].dropna(how="all")
    found = tokens.quantile([p / 100 for p in PERCENTILES]).assign(requests=len(tokens))
    found.insert(0, "percentile", PERCENTILES)
    return found.head(len(PERCENTILES) if len(tokens) else 0)


@per_workload
def requests_by_tokens(requests: pd.DataFrame) -> pd.DataFrame:
    """Count pairs of bands. A band begins at 0 or at a power of two."""
    tokens = without_failures(requests)[TOKENS].dropna().astype(int)
    bands = tokens.map(lambda number: 1 << number.bit_length() - 1 if number else 0)
    counts = bands.value_counts().reset_index()
    counts.columns = ["input_band_tokens", "output_band_tokens", "requests"]
    return counts.assign(requests_pct=100 * counts["requests"] / len(tokens))


@per_workload
def requests_in_flight(
    requests: pd.DataFrame,
    window_s: float | None = None,
    prefill_per_s: float = 5_000,
    decode_per_s: float = 30,
) -> pd.DataFrame:
    """Return the means over each window, if each request is served at once at these tokens per second."""
    window_s = window_length(requests, window_s)
    first_s = (requests["arrival_s"] - requests["origin_s"]).min()
    counted = without_failures(requests).dropna(subset=TOKENS)
    if counted.empty:
        return pd.DataFrame()
    starts = counted["arrival_s"] - counted["origin_s"]
    ends = starts + counted["input_tokens"] / prefill_per_s + counted["output_tokens"] / decode_per_s
    first, last = int(first_s // window_s), int(ends.max() // window_s)
    means = np.zeros((last - first + 1, 2))
    for start, end, tokens in zip(starts, ends, counted[TOKENS].sum(axis=1), strict=True):
        for k in range(int(start // window_s), int(end // window_s) + 1):
            overlap_s = min(end, (k + 1) * window_s) - max(start, k * window_s)
            means[k - first] += np.array([1, tokens]) * overlap_s / window_s
    found = pd.DataFrame(means, columns=["requests_in_flight", "tokens_in_flight"])
    found.insert(0, "window_start_s", found.index * window_s)
    found.insert(1, "window_length_s", window_s)
    return found


def accesses(requests: pd.DataFrame) -> list[tuple[float, int]]:
    """Return the time and the id of each prefix block that the requests use, in order."""
    used = requests.dropna(subset="prefix_blocks")
    lists = zip(used["arrival_s"], used["prefix_blocks"], strict=True)
    return [(arrival_s, block) for arrival_s, blocks in lists for block in blocks]


def cache_hits(blocks: list[int], cache_blocks: float) -> int:
    """Return the hits of a cache that evicts the least recently used block, by simulating it."""
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for block in blocks:
        hits += block in cache
        cache[block] = None
        cache.move_to_end(block)
        if len(cache) > cache_blocks:
            cache.popitem(last=False)
    return hits


def stack_distances(blocks: list[int]) -> list[int]:
    """Return, for each reuse of a block, how many distinct other blocks were used since its last use."""
    last: dict[int, int] = {}
    last_uses: list[int] = []  # the values of `last`, sorted
    distances = []
    for position, block in enumerate(blocks):
        if block in last:
            index = bisect_left(last_uses, last[block])
            distances.append(len(last_uses) - index - 1)
            del last_uses[index]
        last[block] = position
        last_uses.append(position)
    return distances


@per_workload
def prefix_reuse(requests: pd.DataFrame, cache_blocks: float = np.inf) -> pd.DataFrame:
    blocks = [block for _, block in accesses(requests)]
    hits = cache_hits(blocks, cache_blocks)
    row = {
        "requests": requests["prefix_blocks"].count(),
        "blocks": len(blocks),
        "distinct_blocks": len({*blocks}),
        "reused_blocks": hits,
        "reuse_pct": percent(hits, len(blocks)),
    }
    return pd.DataFrame([row] if row["requests"] else [])


@per_workload
def prefix_reuse_by_cache(requests: pd.DataFrame) -> pd.DataFrame:
    blocks = [block for _, block in accesses(requests)]
    distinct, distances = len({*blocks}), np.array(stack_distances(blocks))
    sizes = [size for size in CACHE_BLOCKS if size < distinct] + ([distinct] if distinct else [])
    shares = [percent((distances < size).sum(), len(blocks)) for size in sizes]
    return pd.DataFrame({"cache_blocks": sizes, "hit_pct": shares})


@per_workload
def prefix_reuse_by_age(requests: pd.DataFrame) -> pd.DataFrame:
    last: dict[int, float] = {}
    ages = []
    for arrival_s, block in accesses(requests):
        if block in last:
            ages.append(arrival_s - last[block])
        last[block] = arrival_s
    reused = [sum(age <= limit_s for age in ages) for limit_s in AGES_S if last]
    shares = [percent(count, len(ages)) for count in reused]
    return pd.DataFrame({"max_age_s": AGES_S[: len(reused)], "reused_blocks": reused, "reused_pct": shares})


@per_workload
def requests_by_hour_of_day(requests: pd.DataFrame) -> pd.DataFrame:
    known = requests.dropna(subset="local_arrival_s")
    hours = (known["local_arrival_s"] // 3_600 % 24).astype(int).to_numpy()
    counts = np.bincount(hours, minlength=24)
    if known.empty:
        return pd.DataFrame()
    columns = {"hour_of_day": range(24), "requests": counts, "requests_pct": 100 * counts / len(known)}
    return pd.DataFrame(columns | token_sums(known, hours, 24))


# Nothing identifies a row of genai, so the requests are compared in the order of all their values.
VIEWS = {"unified.requests_v2 order by all": (all_requests, None)}
WINDOW, BANDS = [*WORKLOAD, "window_start_s"], [*WORKLOAD, "input_band_tokens", "output_band_tokens"]
SLOW = "window_s := 900, prefill_tokens_per_s := 1000, decode_tokens_per_s := 8"
QUERIES = {
    "unified.request_summary()": (request_summary, (), WORKLOAD),
    "unified.request_summary(in_trace := 'genai')": (request_summary, ("genai",), WORKLOAD),
    "unified.request_arrivals()": (request_arrivals, (), WINDOW),
    "unified.request_arrivals(window_s := 3600)": (request_arrivals, (None, 3_600), WINDOW),
    "unified.request_burstiness()": (request_burstiness, (), WORKLOAD),
    "unified.request_burstiness(window_s := 1)": (request_burstiness, (None, 1), WORKLOAD),
    "unified.token_percentiles()": (token_percentiles, (), [*WORKLOAD, "percentile"]),
    "unified.requests_by_tokens()": (requests_by_tokens, (), BANDS),
    "unified.requests_in_flight()": (requests_in_flight, (), WINDOW),
    f"unified.requests_in_flight({SLOW})": (requests_in_flight, (None, 900, 1_000, 8), WINDOW),
    "unified.prefix_reuse()": (prefix_reuse, (), WORKLOAD),
    "unified.prefix_reuse(cache_blocks := 50)": (prefix_reuse, (None, 50), WORKLOAD),
    "unified.prefix_reuse_by_cache()": (prefix_reuse_by_cache, (), [*WORKLOAD, "cache_blocks"]),
    "unified.prefix_reuse_by_age()": (prefix_reuse_by_age, (), [*WORKLOAD, "max_age_s"]),
    "unified.requests_by_hour_of_day()": (requests_by_hour_of_day, (), [*WORKLOAD, "hour_of_day"]),
}
