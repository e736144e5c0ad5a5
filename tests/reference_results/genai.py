"""GenAI's views and queries, computed by pandas from the raw archives alone."""

import ast
import io
from pathlib import Path

import pandas as pd
from raw_frames import csv_members

from reference_results.requests import stack_distances

STAGES = {
    "queue": "queue_rt_raw_anon",
    "pipeline_update": "pipeline_update_latency_anon",
    "base_model": "basemodel_update_latency_anon",
    "lora": "lora_update_latency_anon",
    "controlnet": "controlnet_latency_data_anon",
    "inference": "model_predict_data_anon",
    "end_to_end": "pipeline_inference_data_anon",
}


def table(raw: Path, stem: str) -> pd.DataFrame:
    [text] = csv_members((raw / "genai" / f"{stem}.tar.gz").read_bytes()).values()
    return pd.read_csv(io.BytesIO(text))


def telemetry(raw: Path, stem: str) -> pd.DataFrame:
    """Return the values of a file. Its minutes, 57 s long, are scaled to 60 s."""
    found = table(raw, stem).rename(columns={"container_ip": "container_id"})
    time_s = found["timestamp_anon"].astype(int) // 57 * 60
    return found.assign(time_s=time_s, hour_of_day=(time_s // 3600 + 8) % 24)


def stage_latency(raw: Path) -> pd.DataFrame:
    found = pd.concat([telemetry(raw, stem).assign(stage=stage) for stage, stem in STAGES.items()])
    found = found.rename(columns={"value": "latency_ms"}).reset_index(drop=True)
    return found[["stage", "container_id", "time_s", "hour_of_day", "latency_ms"]]


def model_popularity(raw: Path, kind: str = "base_model") -> pd.DataFrame:
    """Count the requests of each base model, or those that name each LoRA at least once."""
    if kind == "lora":
        named = table(raw, "data_trace_processed")["lora_args"].map(ast.literal_eval)
        models = named.map(lambda loras: {lora["modelVersionId"] for lora in loras}).explode()
    else:
        models = table(raw, "lora_request_trace")["checkpoint_model_version_id"]
    counts = models.dropna().value_counts().rename_axis("model_id").reset_index(name="requests")
    counts = counts.sort_values(["requests", "model_id"], ascending=[False, True])
    counts.insert(0, "rank", range(1, len(counts) + 1))
    shares = 100 * counts["requests"] / counts["requests"].sum()
    return counts.assign(requests_pct=shares, cumulative_pct=shares.cumsum())


CACHED_MODELS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)


def model_reuse(raw: Path) -> pd.DataFrame:
    """Return the hits of a cache that evicts the least recently used base model.

    Requests of one second are in the order of their models.
    """
    requests = table(raw, "lora_request_trace").dropna(subset="checkpoint_model_version_id")
    requests = requests.sort_values(["gmt_create", "checkpoint_model_version_id"])
    models = requests["checkpoint_model_version_id"].tolist()
    distances = stack_distances(models)
    rows = [
        (
            size,
            100 * sum(distance < size for distance in distances) / len(models),
            len(models),
            len({*models}),
        )
        for size in CACHED_MODELS
    ]
    return pd.DataFrame(rows, columns=["cached_models", "hits_pct", "requests", "distinct_models"])


VIEWS = {
    "genai.stage_latency_v1": (stage_latency, ["stage", "container_id", "time_s"]),
}
QUERIES = {
    "genai.model_popularity()": (model_popularity, (), None),
    "genai.model_popularity('lora')": (model_popularity, ("lora",), None),
    "genai.model_reuse()": (model_reuse, (), None),
}
