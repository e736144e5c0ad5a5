"""Files that break each of GenAI's rules. The comment on a line names them, without the table."""

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
