"""The numbers in the texts of GenAI's caveats agree with the files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from reference_results.genai import STAGES, table

from tracehouse.ingest.declare.trace import all_caveats

TEXTS = {caveat.name.removeprefix("genai."): caveat.what_goes_wrong for caveat in all_caveats()}
TELEMETRY = [
    *STAGES.values(),
    *("qps", "queue_size_raw_anon", "pod_memory_util_anon", "pod_gpu_duty_cycle_anon"),
    "pod_gpu_memory_used_bytes_anon",
]


@pytest.fixture(scope="module")
def raw(real_raw: Path) -> Path:
    if not (real_raw / "genai").is_dir():
        pytest.skip(f"GenAI's real files are not at {real_raw}")
    return real_raw


def test_a_minute_is_57_s(raw: Path) -> None:
    times = np.unique(np.concatenate([table(raw, stem)["timestamp_anon"] for stem in TELEMETRY]))
    assert set(np.diff(times)) == {57}
    assert f"the {len(times):,} minutes of a day" in TEXTS["clock_is_scaled"]
    assert f"the day is {int(times[-1] - times[0]):,} s long" in TEXTS["clock_is_scaled"]
    assert {str(pd.Timestamp(time, unit="s").year) for time in times} == {"2022"}
    days = pd.to_datetime(times[[0, -1]] / 0.95, unit="s").round("ms")
    assert list(days.astype(str)) == ["2025-06-20", "2025-06-21"]


def test_inference_takes_longer_than_end_to_end(raw: Path) -> None:
    stems = ("pipeline_inference_data_anon", "model_predict_data_anon")
    whole, part = (table(raw, stem).set_index(["timestamp_anon", "container_ip"])["value"] for stem in stems)
    ratio = (part / whole).dropna()
    sentence = f"longer in {(ratio > 1).sum():,} of the {len(ratio):,} minutes of a container that have both"
    assert sentence in TEXTS["inference_longer_than_end_to_end"]
    assert f"{ratio.median():.2f} times as long" in TEXTS["inference_longer_than_end_to_end"]


def test_memory_is_a_fraction(raw: Path) -> None:
    memory = table(raw, "pod_memory_util_anon")["value"]
    assert 0.99 < memory.max() <= 0.9932
    [below] = memory[memory < 0]
    assert f"one of the {len(memory):,} is below 0: {below:.7f}" in TEXTS["memory_is_a_fraction"]


def test_processed_requests_are_undocumented_and_repeat_rows(raw: Path) -> None:
    assert "data_trace_processed" not in (raw / "genai" / "README.md").read_text(encoding="utf-8")
    rows = table(raw, "data_trace_processed")
    sentence = f"{rows.duplicated().sum():,} of the {len(rows):,} repeat an earlier one"
    assert sentence in TEXTS["processed_is_undocumented"]


def test_rows_lack_containers(raw: Path) -> None:
    qps, queue, memory = (table(raw, stem) for stem in ("qps", "queue_size_raw_anon", "pod_memory_util_anon"))
    text = TEXTS["rows_without_container"]
    assert f"None of the {len(queue):,} rows of queue_size" in text and queue["container_ip"].isna().all()
    of_apis = qps["request_type"] == "API Requests"
    assert (qps["container_ip"].isna() == of_apis).all()
    assert f"the {of_apis.sum():,} API requests among the {len(qps):,} rows of qps" in text
    assert f"nor {memory['container_ip'].isna().sum()} of the {len(memory):,} of pod_memory_util" in text
    minutes = memory.dropna().duplicated(["timestamp_anon", "container_ip"])
    assert minutes.sum() == 1
    for stem in ("lora_request_trace", "data_trace_processed"):
        assert "container_ip" not in table(raw, stem)
