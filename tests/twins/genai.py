"""GenAI's views and queries, computed by pandas from the raw archives alone."""

import ast
import io
import math
from pathlib import Path

import numpy as np
import pandas as pd
from raw_frames import BOX_PERCENTILES, csv_members, percentiles

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


def container_minute(raw: Path) -> pd.DataFrame:
    keys = ["container_id", "time_s", "hour_of_day"]
    found = [
        telemetry(raw, stem).dropna(subset="container_id").groupby(keys)["value"].max()
        for stem in ("pod_gpu_duty_cycle_anon", "pod_gpu_memory_used_bytes_anon", "pod_memory_util_anon")
    ]
    minutes = pd.concat(found, axis=1, keys=["gpu_pct", "gpu_memory_gib", "memory_pct"])
    minutes["gpu_memory_gib"] /= 2**30
    minutes["memory_pct"] = 100 * minutes["memory_pct"].clip(lower=0)
    return minutes.reset_index()


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


def latency_by_stage(raw: Path) -> pd.DataFrame:
    stages = stage_latency(raw).groupby("stage")
    latency = stages["latency_ms"]
    columns = {"minutes": stages.size(), "containers": stages["container_id"].nunique()}
    return pd.DataFrame(columns | percentiles(latency, "ms")).reset_index()


def latency_by_hour(raw: Path, stage: str) -> pd.DataFrame:
    found = stage_latency(raw)
    hours = found[found["stage"] == stage].groupby("hour_of_day")["latency_ms"]
    return pd.DataFrame({"minutes": hours.size(), **percentiles(hours, "ms")}).reset_index()


def use_by_hour(raw: Path) -> pd.DataFrame:
    hours = container_minute(raw).groupby("hour_of_day")
    means = hours[["gpu_pct", "gpu_memory_gib", "memory_pct"]].mean().add_prefix("mean_")
    means.insert(0, "containers", hours["container_id"].nunique())
    measured = container_minute(raw).dropna(subset="gpu_pct").groupby("hour_of_day")["container_id"]
    means.insert(1, "gpu_containers", measured.nunique().reindex(means.index, fill_value=0))
    return means.reset_index()


def requests_by_day(raw: Path, kinds: list[str]) -> pd.DataFrame:
    found = table(raw, "lora_request_trace")
    found = found[found["predict_type"].isin(kinds)]
    local = pd.to_datetime(found["gmt_create"]) + pd.Timedelta(days=78, hours=-7)
    days = found.assign(
        day=local.dt.date,
        failed_requests=found["predict_status"] == "FAILED",
        run_s=found["exec_time_seconds"].where(found["predict_status"] == "SUCCEED"),
    ).groupby("day")
    rows = {
        "requests": days.size(),
        "failed_requests": days["failed_requests"].sum(),
        "users": days["groupId"].nunique(),
    }
    return pd.DataFrame(rows | {"median_run_s": days["run_s"].median()}).reset_index()


def latency_by_load(raw: Path, stage: str, load: str) -> pd.DataFrame:
    rates = telemetry(raw, "qps")
    rates = rates[rates["request_type"] == "Generative Requests"].groupby("time_s")["value"].sum()
    queue = telemetry(raw, "queue_size_raw_anon").set_index("time_s")["value"]
    latency = stage_latency(raw)
    latency = latency[latency["stage"] == stage]
    day = pd.DataFrame(index=sorted(set(latency["time_s"])))
    day["request_rate"], day["queued_requests"] = rates.reindex(day.index), queue.reindex(day.index)
    amount, most = {
        "request_rate": (day["request_rate"], rates.max()),
        "queue_size": (day["queued_requests"], queue.max()),
    }[load]
    day["load_band"] = (10 * amount / most).round(6).apply(np.ceil) * 10
    of_load = day.groupby("load_band", dropna=False)
    bands = latency.join(day["load_band"], on="time_s").groupby("load_band", dropna=False)["latency_ms"]
    columns = {
        "minutes_of_day": of_load.size(),
        "minutes": bands.size(),
        "mean_request_rate": of_load["request_rate"].mean(),
        "mean_queued_requests": of_load["queued_requests"].mean(),
        **percentiles(bands, "ms", BOX_PERCENTILES),
    }
    return pd.DataFrame(columns).reset_index()


# Largest amount and label of each band, by column.
SHAPE_BANDS = {
    "prompt_length": {25: "0 to 25", 50: "26 to 50", 75: "51 to 75", 100: "76 to 100"}
    | {200: "101 to 200", 400: "201 to 400", math.inf: "401 and more"},
    "num_inference_steps": {20: "0 to 20", 29: "21 to 29", 30: "30", 39: "31 to 39", 40: "40"}
    | {math.inf: "41 and more"},
    "num_images_per_prompt": {1: "1", 3: "2 to 3", 4: "4", math.inf: "5 and more"},
    "num_lora": {0: "0", 1: "1", 2: "2", math.inf: "3 and more"},
}


def run_by_request_shape(raw: Path, column: str, kinds: list[str]) -> pd.DataFrame:
    found = table(raw, "lora_request_trace")
    found = found[found["predict_type"].isin(kinds)]
    limits = SHAPE_BANDS[column].items()
    shapes = found.assign(
        shape_band=[
            next((band for most, band in limits if amount <= most), None) for amount in found[column]
        ],
        run_s=found["exec_time_seconds"].where(found["predict_status"] == "SUCCEED"),
        is_failed=found["predict_status"] == "FAILED",
    ).groupby("shape_band", dropna=False)
    columns = {
        "requests": shapes.size(),
        "failed_requests": shapes["is_failed"].sum(),
        "timed_requests": shapes["run_s"].count(),
        **percentiles(shapes["run_s"], "run_s", BOX_PERCENTILES),
    }
    return pd.DataFrame(columns).reset_index()


KINDS = ["TXT_2_IMG", "IMG_2_IMG", "INPAINTING"]
VIEWS = {
    "genai.stage_latency_v1": (stage_latency, ["stage", "container_id", "time_s"]),
    "genai.container_minute_v1": (container_minute, ["container_id", "time_s"]),
    "genai.request_shape_v1": (request_shape, ["predict_type", "base_model_id", "loras"]),
}
QUERIES = {
    "genai.latency_by_stage()": (latency_by_stage, (), ["stage"]),
    "genai.latency_by_hour()": (latency_by_hour, ("end_to_end",), ["hour_of_day"]),
    "genai.latency_by_hour(of_stage := 'lora')": (latency_by_hour, ("lora",), ["hour_of_day"]),
    "genai.use_by_hour()": (use_by_hour, (), ["hour_of_day"]),
    "genai.requests_by_day()": (requests_by_day, (KINDS,), ["day"]),
    "genai.requests_by_day(of_type := 'IMG_2_IMG')": (requests_by_day, (["IMG_2_IMG"],), ["day"]),
    "genai.latency_by_load()": (latency_by_load, ("end_to_end", "request_rate"), ["load_band"]),
    "genai.latency_by_load('queue', by_load := 'queue_size')": (
        latency_by_load,
        ("queue", "queue_size"),
        ["load_band"],
    ),
    "genai.run_by_request_shape()": (run_by_request_shape, ("prompt_length", KINDS), ["shape_band"]),
    "genai.run_by_request_shape('inference_steps')": (
        run_by_request_shape,
        ("num_inference_steps", KINDS),
        ["shape_band"],
    ),
    "genai.run_by_request_shape('images', of_type := 'TXT_2_IMG')": (
        run_by_request_shape,
        ("num_images_per_prompt", KINDS[:1]),
        ["shape_band"],
    ),
    "genai.run_by_request_shape('adapters')": (
        run_by_request_shape,
        ("num_lora", KINDS),
        ["shape_band"],
    ),
}
