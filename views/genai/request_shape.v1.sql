-- Requests and their execution times by kind of task, base model and number of adapters (GenAI).
-- grain: one row per (predict_type, base_model_id, loras)
-- source: columns as in lora_request_trace, README of cluster-trace-v2026-GenAI, 6
-- caveat: genai.processed_is_undocumented
-- caveat: genai.requests_name_no_container
create or replace view genai.request_shape_v1 as
with requests as (
    select
        predict_type,
        checkpoint_model_version_id,
        num_images_per_prompt,
        exec_time_seconds,
        -- Each adapter is a dictionary, so the number of braces is the number of adapters.
        length(lora_args) - length(replace(lora_args, '{', '')) as loras
    from genai.data_trace_processed
)

select
    predict_type,
    checkpoint_model_version_id as base_model_id,
    loras,
    count(*) as requests,
    cast(sum(num_images_per_prompt) as bigint) as images,
    stats.favg(exec_time_seconds) as mean_run_s,
    max(exec_time_seconds) as max_run_s
from requests
group by predict_type, checkpoint_model_version_id, loras;

comment on column genai.request_shape_v1.loras is 'LoRA adapters of a request; derived.';
comment on column genai.request_shape_v1.requests is 'Requests of this shape; derived.';
comment on column genai.request_shape_v1.images is 'Images that the requests ask for; NULL if none records it; derived.';
comment on column genai.request_shape_v1.mean_run_s is 'Mean execution time; derived.';
comment on column genai.request_shape_v1.max_run_s is 'Longest execution time; derived.';
