"""Files that break each of GenAI's rules. The comment on a line names them, without the table."""

from pathlib import Path

from twins.genai import table

HEADER = "timestamp_anon,value,container_ip"

FILES = {
    "genai/pod_gpu_duty_cycle_anon.csv": [
        "value,timestamp_anon,container_ip",
        "0.0,1662858720.0,a",
        "0.0,1662858780.0,a",  # minutes
    ],
    "genai/pod_memory_util_anon.csv": [
        "value,timestamp_anon,container_ip",
        "1.0,1662858720.0,a",
        "-0.1,1662858777.0,a",  # fraction
        "66.2,1662858777.0,b",  # fraction
    ],
    "genai/model_predict_data_anon.csv": [HEADER, "1662858720.0,20.0,a", "1662858720.0,20.0,b"],
    "genai/pipeline_inference_data_anon.csv": [
        HEADER,
        "1662858720.0,10.0,a",  # includes_inference
        "1662858720.0,20.0,b",
    ],
}

# Every other rule is broken once.
BROKEN_MORE_OFTEN = {"genai.pod_memory_util.fraction": 2}


def breaches_on_real_files(raw: Path) -> dict[str, int]:
    memory = table(raw, "pod_memory_util_anon")["value"]
    whole, pure = (table(raw, f"{name}_data_anon") for name in ("pipeline_inference", "model_predict"))
    both = whole.merge(pure, on=["timestamp_anon", "container_ip"])
    return {
        "genai.pod_memory_util.fraction": int(((memory < 0) | (memory > 1)).sum()),
        "genai.pipeline_inference.includes_inference": int((both["value_x"] < both["value_y"]).sum()),
    }
