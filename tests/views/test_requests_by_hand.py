"""Requests of LLM inference services, on a few requests whose results can be computed by hand.

Each test asks the reference implementation and the SQL the same question.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import raw_dumps
from random_seed import DEPTH, REPEAT, SEED
from reference_results import requests

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


@pytest.fixture(scope="module", params=["reference", "sql"])
def answer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Return a function from a question, a trace and arguments to the rows, sorted, without the trace."""
    folder = tmp_path_factory.mktemp("requests")
    write_requests(folder / "raw")

    def of_reference(question: str, trace: str, **arguments: float) -> list[tuple]:
        found = getattr(requests, question)(folder / "raw", trace, *arguments.values())
        return sorted(found.drop(columns="trace").itertuples(index=False, name=None))

    if request.param == "reference":
        return of_reference
    connection = raw_dumps.ingested(folder / "raw", folder / "warehouse")

    def of_sql(question: str, trace: str, **arguments: float) -> list[tuple]:
        given = "".join(f", {name} := {value}" for name, value in arguments.items())
        call = f"unified.{question}(in_trace := '{trace}'{given})"
        return sorted(connection.execute(f"select * exclude trace from {call}").fetchall())

    return of_sql


def test_summary(answer: Answer) -> None:
    assert answer("request_summary", "mooncake") == [
        ("conversation", 6, 100, pytest.approx(2_900 / 6), pytest.approx(530 / 6), None, 100),
        ("toolagent", 2, 20, 500, 50, None, 100),
    ]
    assert answer("request_summary", "burstgpt") == [
        (EARLY, 3, 93_600, 753, pytest.approx(248 / 3), pytest.approx(100 / 3), 0)
    ]


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


def test_burstiness(answer: Answer) -> None:
    # The gaps of conversation are 5, 25, 0, 65 and 5 s. Its complete window of 60 s has 4 requests. toolagent
    # begins in a window and ends in the next one.
    assert answer("request_burstiness", "mooncake") == [
        ("conversation", 6, 100, 20, pytest.approx(580**0.5 / 20), 1, 0, 0, 4),
        ("toolagent", 2, 20, 20, 0, 0, None, 0, None),
    ]
    # Complete windows of 40 s have 4 and 0 requests, and those of 10 s of toolagent 1 and 0.
    assert answer("request_burstiness", "mooncake", window_s=40)[0][5:] == (2, pytest.approx(2), 1, 4)
    assert answer("request_burstiness", "mooncake", window_s=10)[1][5:] == (2, pytest.approx(0.5), 1, 1)


def test_tokens_without_failed_requests(answer: Answer) -> None:
    percentiles = {row[1]: row[2:] for row in answer("token_percentiles", "burstgpt")}
    assert list(percentiles) == [1, 5, 10, 25, 50, 75, 90, 95, 99]
    assert percentiles[50] == (779.5, 124, 2)
    assert percentiles[25] == (625.75, 71, 2)
    assert answer("requests_by_tokens", "burstgpt") == [
        (EARLY, 256, 16, 1, 50),
        (EARLY, 1_024, 128, 1, 50),
    ]


def test_requests_in_flight(answer: Answer) -> None:
    held = (20 * 1_100 + 10 * 550 + 5 * 230 + 2 * 110, 25 * 1_300 + 5 * 140, 15 * 1_300)
    assert answer("requests_in_flight", "mooncake", **SPEEDS) == [
        ("conversation", 0, 60, pytest.approx((20 + 10 + 5 + 2) / 60), pytest.approx(held[0] / 60)),
        ("conversation", 60, 60, pytest.approx((25 + 5) / 60), pytest.approx(held[1] / 60)),
        ("conversation", 120, 60, pytest.approx(15 / 60), pytest.approx(held[2] / 60)),
        # The first ends at 60 s, as the second window begins.
        ("toolagent", 0, 60, pytest.approx(10 / 60), pytest.approx(10 * 550 / 60)),
        ("toolagent", 60, 60, pytest.approx(10 / 60), pytest.approx(10 * 550 / 60)),
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


def test_two_algorithms_of_a_cache_agree() -> None:
    draw = random.Random(SEED)
    for _ in range(20 * DEPTH):
        blocks = [int(draw.paretovariate(0.5)) for _ in range(200)]
        distances = requests.stack_distances(blocks)
        for size in range(0, 100, 9):
            hits = requests.cache_hits(blocks, size)
            assert hits == sum(distance < size for distance in distances), REPEAT


def test_prefix_reuse(answer: Answer) -> None:
    assert answer("prefix_reuse", "mooncake") == [
        ("conversation", 6, 10, 4, 6, 60),
        ("toolagent", 2, 2, 1, 1, 50),
    ]
    assert answer("prefix_reuse_by_cache", "mooncake") == [("conversation", 4, 60), ("toolagent", 1, 50)]
    assert answer("prefix_reuse", "burstgpt") == []


def test_prefix_reuse_by_age(answer: Answer) -> None:
    # Blocks are reused after 5, 25, 30, 65, 65 and 65 s.
    reused = {1: 0, 10: 1, 60: 3, 600: 6, 3_600: 6, 86_400: 6}
    assert answer("prefix_reuse_by_age", "mooncake")[:6] == [
        ("conversation", age_s, count, pytest.approx(100 * count / 6)) for age_s, count in reused.items()
    ]


def test_requests_by_hour_of_day(answer: Answer) -> None:
    third = pytest.approx(100 / 3)
    assert answer("requests_by_hour_of_day", "burstgpt") == [
        (EARLY, 0, 1, third, 472, 18),
        (EARLY, 1, 1, third, 700, 0),
        (EARLY, 2, 1, third, 1_087, 230),
        *((EARLY, hour, 0, 0, 0, 0) for hour in range(3, 24)),
    ]
    assert answer("requests_by_hour_of_day", "mooncake") == []
