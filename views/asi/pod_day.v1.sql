-- Pods on GPU servers by day: first and last hour, hours and GPU time (ASI).
-- grain: one row per (day, pod_id, requested_gpus); requests of a pod do not change as a rule
-- source: docs/schema.md of cluster-trace-gpu-v2026
-- caveat: asi.delays_below_a_day: wait_s
-- caveat: asi.lives_in_whole_hours: first_hour last_hour hours
-- caveat: asi.pods_without_gpu
-- caveat: asi.requested_is_not_used: held_gpu_h
-- caveat: asi.types_are_unknown: job_type model_type
-- caveat: asi.undisclosed_models: gpu_model shown_model
-- caveat: asi.workloads_are_missing: workload_id
-- materialize: parquet per partition by requested_gpus, pod_id
create or replace view asi.pod_day_v1 as
select
    day,
    pod_id,
    requested_gpus,
    min(workload_id) as workload_id,
    min(cluster) as cluster,
    min(gpu_model) as gpu_model,
    min(shown_model) as shown_model,
    min(priority) as priority,
    min(job_type) as job_type,
    min(model_type) as model_type,
    min(requested_cpus) as requested_cpus,
    min(wait_s) as wait_s,
    24 * day + min(hour_of_day) as first_hour,
    24 * day + max(hour_of_day) as last_hour,
    -- One bit per hour, because a pod may have two rows in an hour.
    cast(bit_count(bit_or(cast(pow(2, hour_of_day) as bigint))) as bigint) as hours,
    stats.fsum(held_gpu_h) as held_gpu_h
from asi.pod_hour_v1
group by day, pod_id, requested_gpus;

comment on view asi.pod_day_v1 is 'Pods on GPU servers by day: first and last hour, hours and GPU time (ASI). Where a value differs between the rows of a pod, the smallest counts.';
comment on column asi.pod_day_v1.workload_id is 'Workload that the pod belongs to; NULL where unknown; derived.';
comment on column asi.pod_day_v1.cluster is 'Cluster of the pod; derived.';
comment on column asi.pod_day_v1.gpu_model is 'GPU model of the server; derived.';
comment on column asi.pod_day_v1.priority is 'HP (high priority), LP (low priority) or Other; derived.';
comment on column asi.pod_day_v1.job_type is 'Kind of job: training, online_inference, offline_inference, dev, other or unknown; derived.';
comment on column asi.pod_day_v1.model_type is 'Kind of model: genai, rec, cv, embedding, dev or unknown; derived.';
comment on column asi.pod_day_v1.requested_cpus is 'CPU cores that the pod requests; 0 if not recorded; derived.';
comment on column asi.pod_day_v1.wait_s is 'Time from creation to scheduling; NULL if unknown; derived.';
comment on column asi.pod_day_v1.first_hour is 'First hour of the day in which the pod was seen, from the start of the trace [no unit]; derived.';
comment on column asi.pod_day_v1.last_hour is 'Last hour of the day in which the pod was seen, from the start of the trace [no unit]; derived.';
comment on column asi.pod_day_v1.hours is 'Hours of the day in which the pod was seen [h]; derived.';
comment on column asi.pod_day_v1.held_gpu_h is 'GPU time that the pod held in the day; 0 if not recorded; derived.';
comment on column asi.pod_day_v1.shown_model is 'GPU model as in the publisher''s figures: without its variant, if asi.shown_model has it; derived.';
