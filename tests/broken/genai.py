"""Files that break each of GenAI's rules. Comments name the rules that a line breaks, without the table."""

HEADER = "timestamp_anon,value,container_ip"

# Files whose only rule is `minutes`.
MINUTES_ONLY = (
    "queue_rt_raw_anon",
    "lora_update_latency_anon",
    "controlnet_latency_data_anon",
    "pod_gpu_duty_cycle_anon",
    "pod_gpu_memory_used_bytes_anon",
)

FILES = {
    **{
        f"genai/{stem}.csv": [
            HEADER,
            "1662858720.0,0.0,a",
            "1662858780.0,0.0,a",  # minutes
        ]
        for stem in MINUTES_ONLY
    },
    "genai/qps.csv": [
        f"{HEADER},request_type",
        "1662858720.0,0.09,a,Generative Requests",
        "1662858721.0,0.09,a,Generative Requests",  # minutes
        "1662858720.0,0.09,,API Requests",  # container
    ],
    "genai/queue_size_raw_anon.csv": [
        HEADER,
        "1662858720.0,0.0,a",
        "1662858719.0,0.0,a",  # minutes
        "1662858777.0,0.0,",  # container
    ],
    "genai/pod_memory_util_anon.csv": [
        "value,timestamp_anon,container_ip",
        "1.0,1662858720.0,a",
        "-0.1,1662858777.0,a",  # fraction
        "66.2,1662858777.0,b",  # fraction
        "0.5,1662858720.0,",  # container
        "0.5,1662858722.0,a",  # minutes
    ],
    "genai/model_predict_data_anon.csv": [
        HEADER,
        "1662858720.0,20.0,a",
        "1662858720.0,20.0,b",
        "1662858776.0,20.0,a",  # minutes
    ],
    "genai/pipeline_inference_data_anon.csv": [
        HEADER,
        "1662858720.0,10.0,a",  # includes_inference
        "1662858720.0,20.0,b",
        "1662858780.0,20.0,a",  # minutes
    ],
    "genai/basemodel_update_latency_anon.csv": [
        HEADER,
        "1662858720.0,20.0,a",
        "1662858720.0,20.0,b",
        "1662858776.0,20.0,a",  # minutes
    ],
    "genai/pipeline_update_latency_anon.csv": [
        HEADER,
        "1662858720.0,10.0,a",  # includes_base_model
        "1662858720.0,20.0,b",
        "1662858780.0,20.0,a",  # minutes
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

# All other rules are broken once.
BROKEN_MORE_OFTEN = {"genai.pod_memory_util.fraction": 2}

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
