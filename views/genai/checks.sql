-- Data-quality rules of GenAI. Each counts the rows that break it.

-- check: genai.pipeline_inference.includes_inference
-- object: genai.pipeline_inference
-- kind: range
-- rule: the end-to-end time of a minute is at least its pure inference time
-- caveat: genai.inference_longer_than_end_to_end
select count(*)
from genai.pipeline_inference as whole
inner join genai.model_predict as pure
    on whole.timestamp_anon = pure.timestamp_anon and whole.container_ip = pure.container_ip
where pure.value > whole.value;

-- check: genai.pipeline_update_latency.includes_base_model
-- object: genai.pipeline_update_latency
-- kind: range
-- rule: a pipeline's update in a minute takes at least as long as its base model's
-- caveat: genai.part_longer_than_pipeline
select count(*)
from genai.pipeline_update_latency as whole
inner join genai.basemodel_update_latency as part
    on whole.timestamp_anon = part.timestamp_anon and whole.container_ip = part.container_ip
where part.value > whole.value;

-- check: genai.lora_request_trace.once
-- object: genai.lora_request_trace
-- kind: reference
-- rule: no request is also in data_trace_processed, compared by the columns of both
-- caveat: genai.requests_in_both_files
select count(*)
from (
    select
        exec_time_seconds,
        prompt_length,
        negative_prompt_length,
        num_images_per_prompt,
        num_inference_steps,
        num_lora
    from genai.lora_request_trace
    where exec_time_seconds is not null
    intersect all
    select
        exec_time_seconds,
        prompt_length,
        negative_prompt_length,
        num_images_per_prompt,
        num_inference_steps,
        length(lora_args) - length(replace(lora_args, '{', '')) as num_lora
    from genai.data_trace_processed
) as in_both;

-- check: genai.data_trace_processed.distinct
-- object: genai.data_trace_processed
-- kind: key
-- rule: no two requests are the same in every column
-- caveat: genai.processed_is_undocumented
select coalesce(sum(copies - 1), 0)
from (
    select count(*) as copies
    from genai.data_trace_processed
    group by
        predict_type,
        exec_time_seconds,
        style_type,
        prompt_length,
        negative_prompt_length,
        num_images_per_prompt,
        num_inference_steps,
        checkpoint_model_version_id,
        lora_args
    having count(*) > 1
) as repeated;
