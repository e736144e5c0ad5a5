-- Pods on GPU servers by hour and class: number, requests, GPU time and utilisation (ASI).
-- grain: one row per hour and combination of the columns from gpu_model to requests_gpu_memory
-- source: docs/schema.md and scripts of cluster-trace-gpu-v2026
-- caveat: asi.pods_without_gpu
-- caveat: asi.states_of_one_week: is_standby
-- caveat: asi.types_are_unknown: job_type model_type
-- caveat: asi.requested_is_not_used: held_gpu_h
-- caveat: asi.undisclosed_models: gpu_model shown_model
-- materialize: parquet per partition
create or replace view asi.class_hour_v1 as
with pods as (
    select
        day,
        hour_of_day,
        gpu_model,
        shown_model,
        priority,
        job_type,
        model_type,
        is_standby,
        is_ready,
        requested_gpus > 0 as requests_gpus,
        requested_gpu_memory_gib > 0 as requests_gpu_memory,
        requested_gpus > 0 and requested_gpus < 1 as is_fractional,
        requested_gpus as gpus,
        held_gpu_h,
        gpu_pct
    from asi.pod_hour_v1
)

select
    day,
    hour_of_day,
    gpu_model,
    shown_model,
    priority,
    job_type,
    model_type,
    is_standby,
    is_ready,
    requests_gpus,
    requests_gpu_memory,
    count(*) as pod_hours,
    stats.fsum(gpus) as requested_gpus,
    stats.fsum(pods.held_gpu_h) as held_gpu_h,
    count(*) filter (where is_fractional) as fractional_pods,
    coalesce(stats.fsum(case when is_fractional then gpus end), 0) as fractional_gpus,
    count(gpu_pct) as measured_pods,
    stats.favg(gpu_pct) as mean_gpu_pct
from pods
group by
    day,
    hour_of_day,
    gpu_model,
    shown_model,
    priority,
    job_type,
    model_type,
    is_standby,
    is_ready,
    requests_gpus,
    requests_gpu_memory;

comment on column asi.class_hour_v1.requests_gpus is 'Whether the pods request a GPU; derived.';
comment on column asi.class_hour_v1.requests_gpu_memory is 'Whether the pods request GPU memory; derived.';
comment on column asi.class_hour_v1.pod_hours is 'Pods of the class in the hour; a repeated pod counts twice [pod-hours]; derived.';
comment on column asi.class_hour_v1.requested_gpus is 'GPUs that the pods request; derived.';
comment on column asi.class_hour_v1.held_gpu_h is 'GPU time that the pods held in the hour; derived.';
comment on column asi.class_hour_v1.fractional_pods is 'Pods that request less than one GPU; derived.';
comment on column asi.class_hour_v1.fractional_gpus is 'GPUs that these pods request; derived.';
comment on column asi.class_hour_v1.measured_pods is 'Pods with a measured utilisation; derived.';
comment on column asi.class_hour_v1.mean_gpu_pct is 'SM utilisation of the GPUs that a pod requests, mean over the measured pods; derived.';
