-- Pods on GPU servers by hour, with requests, GPU time held and utilisation (ASI).
-- grain: one row per (day, hour_of_day, pod_id), except for a few repeated pods
-- source: docs/schema.md and scripts of cluster-trace-gpu-v2026
-- answers: requested GPUs, CPU utilisation, memory use
-- caveat: asi.delays_below_a_day: wait_s ready_wait_s
-- caveat: asi.negative_memory_use: memory_pct
-- caveat: asi.pods_not_jobs: pod_id
-- caveat: asi.pods_without_gpu
-- caveat: asi.requested_is_not_used: held_gpu_h
-- caveat: asi.standby_counts_twice: held_gpu_h
-- caveat: asi.states_of_one_week: is_standby
-- caveat: asi.types_are_unknown: job_type model_type
-- caveat: asi.undisclosed_models: gpu_model shown_model
-- caveat: asi.workloads_are_missing: workload_id
-- resolves_caveat: asi.unknown_delays
-- resolves_caveat: asi.use_is_added_up
create or replace view asi.pod_hour_v1 as
select
    pod.day,
    pod.hour as hour_of_day,
    pod.pod_id,
    pod.workload_id,
    pod.server_id,
    pod.cluster_id as cluster,
    pod.gpu_spec_public as gpu_model,
    coalesce(known.shown_model, pod.gpu_spec_public) as shown_model,
    pod.priority_class as priority,
    pod.job_type_public as job_type,
    pod.model_type_public as model_type,
    coalesce(pod.is_genai_request, false) as is_genai,
    -- The publisher gives states for these days only.
    case
        when pod.day between 109 and 115 then coalesce(pod.state_public = 'Standby', false)
    end as is_standby,
    coalesce(pod.ready_status, false) as is_ready,
    coalesce(pod.gpu_request, 0) as requested_gpus,
    coalesce(pod.gpu_mem_request, 0) / 1073741824 as requested_gpu_memory_gib,
    coalesce(pod.cpu_request_cores, 0) as requested_cpus,
    coalesce(pod.used_gpu_hours, 0) as held_gpu_h,
    pod.avg_gpu_sm_util / nullif(pod.gpu_request, 0) as gpu_pct,
    pod.avg_gpu_mem_gib as gpu_memory_gib,
    100 * pod.avg_cpu_request_util as cpu_pct,
    100 * pod.avg_memory_util as memory_pct,
    nullif(pod.schedule_delay_sec, -1) as wait_s,
    nullif(pod.ready_delay_sec, -1) as ready_wait_s
from asi.pod_hourly as pod
left join asi.shown_model_v1 as known on split_part(pod.gpu_spec_public, '-', 1) = known.shown_model;

comment on column asi.pod_hour_v1.shown_model is 'GPU model as in the publisher''s figures: without its variant, if asi.shown_model has it; derived.';
comment on column asi.pod_hour_v1.job_type is 'Kind of job: training, online_inference, offline_inference, dev, other or unknown; measured.';
comment on column asi.pod_hour_v1.model_type is 'Kind of model: genai, rec, cv, embedding, dev or unknown; measured.';
comment on column asi.pod_hour_v1.is_genai is 'Whether the request matches the publisher''s rules for generative models; false if not recorded; derived.';
comment on column asi.pod_hour_v1.is_standby is 'Whether the pod is in standby: it holds GPUs for later use; NULL except on days 109 to 115; derived.';
comment on column asi.pod_hour_v1.is_ready is 'Whether the pod became ready; false if not recorded; derived.';
comment on column asi.pod_hour_v1.requested_gpus is 'GPUs that the pod requests, fractions included; 0 for a pod without a GPU; derived.';
comment on column asi.pod_hour_v1.requested_gpu_memory_gib is 'GPU memory that the pod requests; 0 if not recorded; derived.';
comment on column asi.pod_hour_v1.requested_cpus is 'CPU cores that the pod requests; 0 if not recorded; derived.';
comment on column asi.pod_hour_v1.held_gpu_h is 'GPU time that the pod held in the hour; 0 if not recorded; derived.';
comment on column asi.pod_hour_v1.gpu_pct is 'SM utilisation of the GPUs that the pod requests; above 100 where it uses more than its fraction of a GPU; derived.';
comment on column asi.pod_hour_v1.gpu_memory_gib is 'GPU memory in use; measured.';
comment on column asi.pod_hour_v1.cpu_pct is 'Used share of the requested CPU cores; may exceed 100; derived.';
comment on column asi.pod_hour_v1.memory_pct is 'Used share of the memory; derived.';
comment on column asi.pod_hour_v1.wait_s is 'Time from creation to scheduling; NULL if unknown; derived.';
comment on column asi.pod_hour_v1.ready_wait_s is 'Time from scheduling to readiness; NULL if unknown; derived.';
