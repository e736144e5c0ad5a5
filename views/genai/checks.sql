-- Data-quality rules of GenAI. Each counts the rows that break it.

-- check: genai.pod_gpu_duty_cycle.minutes
-- object: genai.pod_gpu_duty_cycle
-- kind: range
-- rule: times are whole minutes, which the clock counts as 57 s
select count(*)
from genai.pod_gpu_duty_cycle
where timestamp_anon % 57 <> 0;

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
