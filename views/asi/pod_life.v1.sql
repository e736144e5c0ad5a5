-- Lifetimes of pods on GPU servers, assembled from the hours in which they were seen (ASI).
-- grain: one row per (pod_id, requested_gpus); requests of a pod do not change as a rule
-- source: docs/schema.md of cluster-trace-gpu-v2026
-- caveat: asi.pods_without_gpu
-- caveat: asi.delays_below_a_day: wait_s
-- caveat: asi.workloads_are_missing: workload_id
-- caveat: asi.types_are_unknown: job_type model_type
-- caveat: asi.requested_is_not_used: held_gpu_h
-- caveat: asi.undisclosed_models: gpu_model shown_model
-- caveat: asi.lives_in_whole_hours: first_hour last_hour lifetime_h
create or replace view asi.pod_life_v1 as
-- Hours without any pod in the loaded data say nothing about a single pod.
with loaded_hours as (
    select
        hour,
        row_number() over (order by hour) as place,
        coalesce(hour - lag(hour) over (order by hour) > 1, true) as begins,
        coalesce(lead(hour) over (order by hour) - hour > 1, true) as ends
    from (select distinct 24 * day + hour_of_day as hour from asi.class_hour_v1) as loaded
),

lives as (
    select
        pod_id,
        -- A grouping column, so that queries on GPU pods read only the rows of these.
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
        min(first_hour) as first_hour,
        max(last_hour) as last_hour,
        cast(sum(hours) as bigint) as hours,
        stats.fsum(held_gpu_h) as held_gpu_h
    from asi.pod_day_v1
    group by pod_id, requested_gpus
)

select
    lives.pod_id,
    lives.requested_gpus,
    lives.workload_id,
    lives.cluster,
    lives.gpu_model,
    lives.shown_model,
    lives.priority,
    lives.job_type,
    lives.model_type,
    lives.requested_cpus,
    lives.wait_s,
    lives.first_hour,
    lives.last_hour,
    lives.hours,
    last_hours.place - first_hours.place + 1 - lives.hours as gap_hours,
    lives.last_hour - lives.first_hour + 1 as lifetime_h,
    lives.held_gpu_h,
    first_hours.begins as is_left_censored,
    last_hours.ends as is_right_censored
from lives
inner join loaded_hours as first_hours on lives.first_hour = first_hours.hour
inner join loaded_hours as last_hours on lives.last_hour = last_hours.hour;

comment on view asi.pod_life_v1 is 'Lifetimes of pods on GPU servers, assembled from the hours in which they were seen, in the days that are loaded (ASI). Where a value differs between the rows of a pod, the smallest counts.';
comment on column asi.pod_life_v1.workload_id is 'Workload that the pod belongs to; NULL where unknown; derived.';
comment on column asi.pod_life_v1.cluster is 'Cluster of the pod; derived.';
comment on column asi.pod_life_v1.gpu_model is 'GPU model of the server; derived.';
comment on column asi.pod_life_v1.priority is 'HP (high priority), LP (low priority) or Other; derived.';
comment on column asi.pod_life_v1.job_type is 'Kind of job: training, online_inference, offline_inference, dev, other or unknown; derived.';
comment on column asi.pod_life_v1.model_type is 'Kind of model: genai, rec, cv, embedding, dev or unknown; derived.';
comment on column asi.pod_life_v1.requested_cpus is 'CPU cores that the pod requests; 0 if not recorded; derived.';
comment on column asi.pod_life_v1.wait_s is 'Time from creation to scheduling; NULL if unknown; derived.';
comment on column asi.pod_life_v1.first_hour is 'First hour in which the pod was seen, from the start of the trace [no unit]; derived.';
comment on column asi.pod_life_v1.last_hour is 'Last hour in which the pod was seen, from the start of the trace [no unit]; derived.';
comment on column asi.pod_life_v1.hours is 'Hours in which the pod was seen [h]; derived.';
comment on column asi.pod_life_v1.gap_hours is 'Loaded hours between the first and the last in which the pod was not seen [h]; derived.';
comment on column asi.pod_life_v1.lifetime_h is 'Hours from the first to the last in which the pod was seen, both included; of a censored pod the part inside the loaded data; derived.';
comment on column asi.pod_life_v1.held_gpu_h is 'GPU time that the pod held in all its hours; 0 if not recorded; derived.';
comment on column asi.pod_life_v1.is_left_censored is 'Whether the hour before the first is not loaded, so that the pod may have begun earlier; derived.';
comment on column asi.pod_life_v1.is_right_censored is 'Whether the hour after the last is not loaded, so that the pod may have gone on; derived.';
comment on column asi.pod_life_v1.shown_model is 'GPU model as in the publisher''s figures: without its variant, if asi.shown_model has it; derived.';
