"""Synthetic GenAI: telemetry of containers on a scaled clock, and requests of users.

Reproduced: the archives, their columns and order; the rows; one cell for each container and minute of 57 s;
rows without a container; a memory fraction below 0; inference that is longer than end to end; requests that
are in two files, with a list of adapters as text. All else is invented.
"""

from pathlib import Path

import numpy as np
import polars as pl

from tracehouse.samples.declare import Sampler
from tracehouse.samples.draw import Ints, floats, hex_ids, lognormal, scaled
from tracehouse.samples.files import Member, OnBytes, csv_bytes, write_csv, write_tar_gz

STEPS, STEP_S, FIRST_S = 1_441, 57, 1_662_858_720
CONTAINERS = 208
REQUESTS, WITH_TIME = 68_195, 26_823
REQUESTS_MS = 23 * 86_400_000
BYTES = 42_600_000
T, V, C = "timestamp_anon", "value", "container_ip"
# Rows, and median and sigma of the values, of each file; its columns in their order.
TELEMETRY = {
    "qps": (24_627, 0.09, 0.2, (T, V, C)),
    "queue_size_raw_anon": (1_434, 0.3, 0.5, (V, C, T)),
    "queue_rt_raw_anon": (23_478, 203, 0.5, (V, C, T)),
    "pipeline_update_latency_anon": (36_046, 8_454, 0.8, (T, V, C)),
    "basemodel_update_latency_anon": (7_531, 22_718, 0.5, (T, V, C)),
    "lora_update_latency_anon": (27_415, 4_378, 0.5, (T, V, C)),
    "controlnet_latency_data_anon": (29_221, 3_884, 0.5, (T, V, C)),
    "pod_memory_util_anon": (214_890, 0.5, 0.1, (V, T, C)),
    "pod_gpu_duty_cycle_anon": (157_417, 20, 0.3, (V, T, C)),
    "pod_gpu_memory_used_bytes_anon": (161_413, 2.4e10, 0.1, (T, V, C)),
    "model_predict_data_anon": (6_254, 35_000, 0.5, (T, V, C)),
    "pipeline_inference_data_anon": (34_421, 15_132, 0.5, (T, V, C)),
}


def expected_bytes(scale: float) -> int:
    """About how many bytes of text a sample has."""
    return round(BYTES * scale)


def write(folder: Path, scale: float, rng: np.random.Generator, on_bytes: OnBytes) -> list[Path]:
    """Write the archives, and the one CSV that is loose too."""
    frames = {}
    # All files take the first of the same cells, so that they can be joined however few there are.
    cells = rng.permutation(STEPS * CONTAINERS * int(np.ceil(scale)))
    for stem, (rows, median, sigma, columns) in TELEMETRY.items():
        count = scaled(rows, scale, 60)
        chosen = rng.permutation(STEPS)[:count] if stem.startswith("queue_size") else cells[:count]
        frames[stem] = _cells(stem, np.sort(chosen), rng, median, sigma).select(columns)
    kinds = pl.Series(np.where(frames["qps"][C].is_null(), "API Requests", "Generative Requests"))
    frames["qps"] = frames["qps"].with_columns(kinds.alias("request_type"))
    frames |= _requests(scale, rng)
    paths = [write_csv(folder / "lora_request_trace.csv", frames["lora_request_trace"], on_bytes)]
    for stem, frame in frames.items():
        text = csv_bytes(frame)
        on_bytes(len(text))
        paths.append(write_tar_gz(folder / f"{stem}.tar.gz", [Member(f"{stem}.csv", text)]))
    return paths


def _cells(stem: str, cells: Ints, rng: np.random.Generator, median: float, sigma: float) -> pl.DataFrame:
    values = lognormal(rng, len(cells), median, sigma)
    if stem.startswith("pod_memory"):
        values = np.minimum(values, 0.99)
        values[0] = -0.00001
    nameless = {"queue_size_raw_anon": 1, "qps": 0.05, "pod_memory_util_anon": 0.001}.get(stem, 0)
    containers = hex_ids(cells // STEPS, 1, 32, rng.random(len(cells)) < nameless)
    return pl.DataFrame(
        {T: floats(FIRST_S + STEP_S * (cells % STEPS)), V: floats(values), C: containers}
    ).sort(T)


def _requests(scale: float, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    """All requests, and the last of them once more, with labels instead of hashes."""
    count = scaled(REQUESTS, scale, 150)
    kind = rng.choice(3, count, p=[0.88, 0.11, 0.01])
    model, loras = rng.integers(0, 105, count), rng.choice(4, count, p=[0.78, 0.2, 0.01, 0.01])
    adapter = "{'modelVersionId': '" + hex_ids(model, 5, 32) + "', 'scale': 0.8}"
    times = np.datetime64("2024-11-15T16:57:50", "ms") + np.sort(rng.integers(0, REQUESTS_MS, count))
    run_s = floats(np.round(lognormal(rng, count, 23.0, 0.6)))
    shape = {
        "prompt_length": floats(rng.integers(0, 200, count)),
        "negative_prompt_length": floats(np.where(rng.random(count) < 0.24, np.nan, 26.0)),
        "num_images_per_prompt": floats(rng.choice([1, 4, 8], count)),
        "num_inference_steps": floats(rng.choice([30, 40], count)),
    }
    labelled = {
        "gmt_create": pl.Series(times).dt.strftime("%Y-%m-%d %H:%M:%S"),
        "predict_type": np.array(["TXT_2_IMG", "IMG_2_IMG", "INPAINTING"])[kind],
        "predict_status": rng.choice(["SUCCEED", "FAILED", "PENDING"], count, p=[0.9, 0.08, 0.02]),
        "exec_time_seconds": run_s,
        "groupId": [f"G{number:04}" for number in rng.integers(0, 4_247, count)],
        **shape,
        "checkpoint_model_version_id": [f"M{number:04}" for number in model],
        "num_lora": loras,
    }
    hashed = {
        "predict_type": hex_ids(kind, 2, 32),
        "exec_time_seconds": run_s,
        "style_type": hex_ids(kind, 3, 32, rng.random(count) < 0.5),
        **shape,
        "checkpoint_model_version_id": hex_ids(model, 4, 32),
        "lora_args": [f"[{', '.join([one] * many)}]" for one, many in zip(adapter, loras, strict=True)],
    }
    last = pl.DataFrame(labelled).tail(scaled(WITH_TIME, scale, 60))
    return {"lora_request_trace": last, "data_trace_processed": pl.DataFrame(hashed)}


SAMPLER = Sampler(write, expected_bytes)
