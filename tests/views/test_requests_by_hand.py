"""Pitfalls of LLM requests, on a few whose results can be computed by hand: windows, failures and a cache.

tests/reference_results/requests.py computes all questions with pandas.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import raw_dumps

Answer = Callable[..., list[tuple]]

# Milliseconds of arrival, tokens of prompt and answer, prefix blocks. At 100 tokens per second of prefill and
# 10 of decode, they take 20, 10, 5, 2, 40 and 5 s.
CONVERSATION = (
    (0, 1_000, 100, [1, 2]),
    (5_000, 500, 50, [1, 3]),
    (30_000, 200, 30, [1, 2]),
    # The last two arrive together. Their order is that of their lines.
    (30_000, 100, 10, [4]),
    (95_000, 1_000, 300, [4, 2, 1]),
    (100_000, 100, 40, []),
)
# Equal ids of another workload are other blocks. Both requests take 10 s.
TOOLAGENT = (
    (50_000, 500, 50, [1]),
    (70_000, 500, 50, [1]),
)
# Seconds of arrival, of the answer; model; tokens of prompt, answer and both. The second request failed.
BURSTGPT = (
    (0, 5.5, "ChatGPT", 472, 18, 490),
    (90_000, 0.5, "ChatGPT", 700, 0, 700),
    (93_600, 24, "GPT-4", 1_087, 230, 1_317),
)
BURSTGPT_HEADER = "Timestamp,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type"
EARLY = "API log, days 0 to 121"
SPEEDS = {"window_s": 60, "prefill_tokens_per_s": 100, "decode_tokens_per_s": 10}


def write_requests(raw: Path) -> None:
    keys = ("timestamp", "input_length", "output_length", "hash_ids")
    for workload, rows in (("conversation", CONVERSATION), ("toolagent", TOOLAGENT)):
        lines = [json.dumps(dict(zip(keys, row, strict=True))) for row in rows]
        path = raw / "mooncake" / f"{workload}_trace.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = [",".join(map(str, (*row, "API log"))) for row in BURSTGPT]
    (raw / "burstgpt").mkdir()
    (raw / "burstgpt" / "BurstGPT_1.csv").write_text(
        "\n".join([BURSTGPT_HEADER, *lines]) + "\n", encoding="utf-8"
    )


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Return a function from a question, a trace and arguments to the rows, sorted, without the trace."""
    folder = tmp_path_factory.mktemp("requests")
    write_requests(folder / "raw")
    connection = raw_dumps.ingested(folder / "raw", folder / "warehouse")

    def of_sql(question: str, trace: str, **arguments: float) -> list[tuple]:
        given = "".join(f", {name} := {value}" for name, value in arguments.items())
        call = f"unified.{question}(in_trace := '{trace}'{given})"
        return sorted(connection.execute(f"select * exclude trace from {call}").fetchall())

    return of_sql


def test_windows_begin_at_the_first_arrival_of_the_trace(answer: Answer) -> None:
    assert answer("request_arrivals", "mooncake", window_s=40) == [
        ("conversation", 0, 40, 4, 0.1, 1_800, 190),
        ("conversation", 40, 40, 0, 0, 0, 0),
        ("conversation", 80, 40, 2, 0.05, 1_100, 340),
        # Its windows are those from 40 s, in which its first request arrives, to 80 s.
        ("toolagent", 0, 40, 2, 0.05, 1_000, 100),
    ]
    assert [row[:2] for row in answer("request_arrivals", "mooncake", window_s=60)] == [
        ("conversation", 0),
        ("conversation", 60),
        ("toolagent", 0),
        ("toolagent", 60),
    ]


def test_tokens_without_failed_requests(answer: Answer) -> None:
    percentiles = {row[1]: row[2:] for row in answer("token_percentiles", "burstgpt")}
    assert list(percentiles) == [1, 5, 10, 25, 50, 75, 90, 95, 99]
    assert percentiles[50] == (779.5, 124, 2)
    assert percentiles[25] == (625.75, 71, 2)
    assert answer("requests_by_tokens", "burstgpt") == [
        (EARLY, 256, 16, 1, 50),
        (EARLY, 1_024, 128, 1, 50),
    ]


def test_failed_requests_are_never_in_flight(answer: Answer) -> None:
    flying = [(row[1], *row[3:]) for row in answer("requests_in_flight", "burstgpt", **SPEEDS) if row[3]]
    assert flying == [
        (0, pytest.approx(6.52 / 60), pytest.approx(6.52 * 490 / 60)),
        (93_600, pytest.approx(33.87 / 60), pytest.approx(33.87 * 1_317 / 60)),
    ]


# Blocks in order: 1 2 1 3 1 2 4 4 2 1. Distinct other blocks since the last use: 1, 1, 2, 0, 1 and 2.
@pytest.mark.parametrize(("cache_blocks", "hits"), [(1, 1), (2, 4), (3, 6), (4, 6), (1_000, 6)])
def test_prefix_reuse_with_a_cache(answer: Answer, cache_blocks: int, hits: int) -> None:
    toolagent = min(cache_blocks, 1)
    assert answer("prefix_reuse", "mooncake", cache_blocks=cache_blocks) == [
        ("conversation", 6, 10, 4, hits, pytest.approx(10 * hits)),
        ("toolagent", 2, 2, 1, toolagent, 50 * toolagent),
    ]
