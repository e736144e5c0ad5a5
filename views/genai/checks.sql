-- Data-quality rules of GenAI. Each counts the rows that break it.

-- check: genai.qps.minutes
-- object: genai.qps
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.qps
where timestamp_anon % 57 <> 0;

-- check: genai.queue_size.minutes
-- object: genai.queue_size
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.queue_size
where timestamp_anon % 57 <> 0;

-- check: genai.queue_rt.minutes
-- object: genai.queue_rt
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.queue_rt
where timestamp_anon % 57 <> 0;

-- check: genai.pipeline_update_latency.minutes
-- object: genai.pipeline_update_latency
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.pipeline_update_latency
where timestamp_anon % 57 <> 0;

-- check: genai.basemodel_update_latency.minutes
-- object: genai.basemodel_update_latency
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.basemodel_update_latency
where timestamp_anon % 57 <> 0;

-- check: genai.lora_update_latency.minutes
-- object: genai.lora_update_latency
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.lora_update_latency
where timestamp_anon % 57 <> 0;

-- check: genai.controlnet_latency.minutes
-- object: genai.controlnet_latency
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.controlnet_latency
where timestamp_anon % 57 <> 0;

-- check: genai.pod_memory_util.minutes
-- object: genai.pod_memory_util
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.pod_memory_util
where timestamp_anon % 57 <> 0;

-- check: genai.pod_gpu_duty_cycle.minutes
-- object: genai.pod_gpu_duty_cycle
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.pod_gpu_duty_cycle
where timestamp_anon % 57 <> 0;

-- check: genai.pod_gpu_memory_used_bytes.minutes
-- object: genai.pod_gpu_memory_used_bytes
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.pod_gpu_memory_used_bytes
where timestamp_anon % 57 <> 0;

-- check: genai.model_predict.minutes
-- object: genai.model_predict
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.model_predict
where timestamp_anon % 57 <> 0;

-- check: genai.pipeline_inference.minutes
-- object: genai.pipeline_inference
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.pipeline_inference
where timestamp_anon % 57 <> 0;

-- check: genai.qps.container
-- object: genai.qps
-- kind: coverage
-- rule: each rate is of a container
-- caveat: genai.rows_without_container
select count(*)
from genai.qps
where container_ip is null;

-- check: genai.queue_size.container
-- object: genai.queue_size
-- kind: coverage
-- rule: each length of the queue is of a container
-- caveat: genai.rows_without_container
select count(*)
from genai.queue_size
where container_ip is null;

-- check: genai.pod_memory_util.container
-- object: genai.pod_memory_util
-- kind: coverage
-- rule: each use of memory is of a container
-- caveat: genai.rows_without_container
select count(*)
from genai.pod_memory_util
where container_ip is null;

-- check: genai.pod_memory_util.fraction
-- object: genai.pod_memory_util
-- kind: range
-- rule: memory in use is a fraction, from 0 to 1
-- caveat: genai.memory_is_a_fraction
select count(*)
from genai.pod_memory_util
where value < 0 or value > 1;

-- check: genai.pipeline_inference.includes_inference
-- object: genai.pipeline_inference
-- kind: range
-- rule: the end-to-end time of a minute is no shorter than that of pure inference
-- caveat: genai.inference_longer_than_end_to_end
select count(*)
from genai.pipeline_inference as whole
inner join genai.model_predict as pure
    on whole.timestamp_anon = pure.timestamp_anon and whole.container_ip = pure.container_ip
where pure.value > whole.value;

-- check: genai.pipeline_update_latency.includes_base_model
-- object: genai.pipeline_update_latency
-- kind: range
-- rule: a pipeline's update in a minute is no shorter than that of its base model
-- caveat: genai.part_longer_than_pipeline
select count(*)
from genai.pipeline_update_latency as whole
inner join genai.basemodel_update_latency as part
    on whole.timestamp_anon = part.timestamp_anon and whole.container_ip = part.container_ip
where part.value > whole.value;

-- check: genai.lora_request_trace.once
-- object: genai.lora_request_trace
-- kind: reference
-- rule: no request is in data_trace_processed too, by what both tell
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
