-- What GenAI's requests ask for, and how long they took: by kind of task, base model and number of adapters.
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
        -- Each adapter is a dictionary, whatever else is in the list.
        length(lora_args) - length(replace(lora_args, '{', '')) as loras
    from genai.data_trace_processed
)

select
    predict_type,
    checkpoint_model_version_id as base_model_id,
    loras,
    count(*) as requests,
    cast(sum(num_images_per_prompt) as bigint) as images,
    favg(exec_time_seconds) as mean_run_s,
    max(exec_time_seconds) as max_run_s
from requests
group by predict_type, checkpoint_model_version_id, loras;

comment on column genai.request_shape_v1.predict_type is 'Hash of the kind of task; measured.';
comment on column genai.request_shape_v1.base_model_id is 'Hash of the base model; NULL where none is named; measured.';
comment on column genai.request_shape_v1.loras is 'LoRA adapters of a request; derived.';
comment on column genai.request_shape_v1.requests is 'Such requests; derived.';
comment on column genai.request_shape_v1.images is 'Images that they ask for; NULL where none of them says; derived.';
comment on column genai.request_shape_v1.mean_run_s is 'Mean of their execution times; derived.';
comment on column genai.request_shape_v1.max_run_s is 'Longest of their execution times; derived.';
