"""GenAI's views and queries, computed by pandas from the raw archives alone."""

import ast
import io
from pathlib import Path

import pandas as pd
from raw_frames import csv_members

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


def request_shape(raw: Path) -> pd.DataFrame:
    found = table(raw, "data_trace_processed").assign(number=1)
    found["loras"] = [len(ast.literal_eval(text)) for text in found["lora_args"]]
    found = found.rename(columns={"checkpoint_model_version_id": "base_model_id"})
    shapes = found.groupby(["predict_type", "base_model_id", "loras"], dropna=False)
    rows = pd.DataFrame({"requests": shapes.size()})
    rows["images"] = shapes["num_images_per_prompt"].sum(min_count=1)
    rows["mean_run_s"] = shapes["exec_time_seconds"].mean()
    rows["max_run_s"] = shapes["exec_time_seconds"].max()
    return rows.reset_index()


VIEWS = {
    "genai.stage_latency_v1": (stage_latency, ["stage", "container_id", "time_s"]),
    "genai.request_shape_v1": (request_shape, ["predict_type", "base_model_id", "loras"]),
}
