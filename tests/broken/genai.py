"""Rows and files that break GenAI's rules in SQL. Comments name the rules that a line breaks."""

from broken_rows import Changes

HEADER = "timestamp_anon,value,container_ip"
METRICS = (
    *("qps", "queue_size", "queue_rt", "pipeline_update_latency", "basemodel_update_latency"),
    *("lora_update_latency", "controlnet_latency", "pod_memory_util", "pod_gpu_duty_cycle"),
    *("pod_gpu_memory_used_bytes", "model_predict", "pipeline_inference"),
)

CHANGES: Changes = [
    *((f"genai.{metric}.minutes", {"timestamp_anon": "timestamp_anon + 1"}) for metric in METRICS),
    ("genai.qps.container", {"container_ip": "null"}),
    ("genai.queue_size.container", {"container_ip": "null"}),
    ("genai.pod_memory_util.container", {"container_ip": "null"}),
    ("genai.pod_memory_util.fraction", {"value": "-0.1"}),
    ("genai.pod_memory_util.fraction", {"value": "66.2"}),
]

FILES = {
    "genai/model_predict_data_anon.csv": [
        HEADER,
        "1662858720.0,20.0,a",
        "1662858720.0,20.0,b",
    ],
    "genai/pipeline_inference_data_anon.csv": [
        HEADER,
        "1662858720.0,10.0,a",  # includes_inference
        "1662858720.0,20.0,b",
    ],
    "genai/basemodel_update_latency_anon.csv": [
        HEADER,
        "1662858720.0,20.0,a",
        "1662858720.0,20.0,b",
    ],
    "genai/pipeline_update_latency_anon.csv": [
        HEADER,
        "1662858720.0,10.0,a",  # includes_base_model
        "1662858720.0,20.0,b",
    ],
    "genai/lora_request_trace.csv": [
        "gmt_create,predict_type,predict_status,exec_time_seconds,groupId,prompt_length,"
        "negative_prompt_length,num_images_per_prompt,num_inference_steps,checkpoint_model_version_id,num_lora",
        "2024-11-15 16:57:50,TXT_2_IMG,SUCCEED,32.0,G0000,63.0,,1.0,30.0,M0000,1",  # once
        "2024-11-15 16:57:51,TXT_2_IMG,SUCCEED,32.0,G0000,63.0,,1.0,30.0,M0000,1",
        "2024-11-15 16:57:52,TXT_2_IMG,SUCCEED,32.0,G0000,63.0,0.0,1.0,30.0,M0000,1",
        "2024-11-15 16:57:53,TXT_2_IMG,SUCCEED,32.0,G0000,64.0,,1.0,30.0,M0000,2",
    ],
    "genai/data_trace_processed.csv": [
        "predict_type,exec_time_seconds,style_type,prompt_length,negative_prompt_length,"
        "num_images_per_prompt,num_inference_steps,checkpoint_model_version_id,lora_args",
        "a,32.0,,63.0,,1.0,30.0,b,\"[{'modelVersionId': 'a', 'scale': 0.8}]\"",
        "a,32.0,,64.0,,1.0,30.0,b,[]",
        "a,32.0,,64.0,,1.0,30.0,b,[]",  # distinct
        "a,32.0,s,64.0,,1.0,30.0,b,[]",
    ],
}

# Counted once with pandas.
BREACHES_ON_REAL_FILES = {
    "genai.qps.container": 1_114,
    "genai.queue_size.container": 1_434,
    "genai.pod_memory_util.container": 49,
    "genai.pod_memory_util.fraction": 1,
    "genai.pipeline_inference.includes_inference": 6_084,
    "genai.pipeline_update_latency.includes_base_model": 2_716,
    "genai.lora_request_trace.once": 26_823,
    "genai.data_trace_processed.distinct": 22_237,
}
