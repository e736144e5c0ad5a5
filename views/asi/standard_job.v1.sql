-- ASI pods with a GPU as jobs in the standard format, in the days that are loaded.
-- grain: one row per pod with a GPU
-- source: docs/schema.md of cluster-trace-gpu-v2026
-- caveat: asi.pods_not_jobs
-- caveat: asi.standby_counts_twice: held_gpu_s
-- resolves_caveat: asi.lives_in_whole_hours: allocated_gpus run_s observed_run_s
-- resolves_caveat: asi.pods_without_gpu
-- resolves_caveat: asi.requested_is_not_used
-- resolves_caveat: asi.standby_counts_twice: run_s observed_run_s
create or replace view asi.standard_job_v1 as
-- A pod runs while it holds its GPUs.
with lives as (
    select
        pod_id,
        workload_id,
        gpu_model,
        job_type,
        requested_cpus,
        requested_gpus,
        first_hour,
        lifetime_h,
        held_gpu_h,
        is_left_censored,
        is_right_censored,
        case when not is_left_censored then wait_s end as wait_s,
        case when held_gpu_h > 0 then least(held_gpu_h / requested_gpus, lifetime_h) end as ran_h
    from asi.pod_life_v1
    where requested_gpus > 0
),

-- The run is in the middle of the hours in which the pod was seen, unless the data begin or end there. Rounds
-- times, because sums of fractions differ in their last digits.
placed as (
    select
        pod_id,
        workload_id,
        gpu_model,
        job_type,
        requested_cpus,
        requested_gpus,
        held_gpu_h,
        wait_s,
        round(3600 * ran_h, 3) as observed_run_s,
        round(
            3600 * (
                first_hour
                + case when is_left_censored then 0.0 when is_right_censored then 1.0 else 0.5 end
                * (lifetime_h - ran_h)
            ), 3
        ) as observed_start_s,
        is_left_censored,
        is_right_censored
    from lives
)

select
    cast(null as varchar) as cluster,
    pod_id as job_id,
    cast(null as varchar) as user_id,
    workload_id as group_id,
    cast(null as timestamptz) as submit_time,
    cast(null as double) as submit_s,
    cast(null as double) as local_submit_s,
    cast(wait_s as double) as wait_s,
    cast(wait_s as double) as observed_wait_s,
    observed_start_s,
    case when not is_left_censored and not is_right_censored then observed_run_s end as run_s,
    observed_run_s,
    case when not is_right_censored then observed_start_s + observed_run_s end as end_s,
    requested_cpus,
    cast(null as double) as allocated_cpus,
    requested_gpus,
    requested_gpus as requested_gpus_per_instance,
    case when observed_run_s is not null then requested_gpus end as allocated_gpus,
    cast(null as double) as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    3600 * held_gpu_h as held_gpu_s,
    'unknown' as status,
    is_right_censored,
    is_left_censored,
    nullif(job_type, 'unknown') as workload,
    gpu_model as partition_name
from placed;

comment on column asi.standard_job_v1.group_id is 'Workload that the pod belongs to; derived.';
comment on column asi.standard_job_v1.wait_s is 'Time from creation to scheduling; NULL if unknown, and for pods that were there when the loaded data begin; derived.';
comment on column asi.standard_job_v1.observed_wait_s is 'The same as wait_s: how long a pod without a known queueing delay waited is unknown; derived.';
comment on column asi.standard_job_v1.observed_start_s is 'Begin of the time in which the pod held its GPUs, to about an hour; NULL if it never held them; derived.';
comment on column asi.standard_job_v1.end_s is 'End of the time in which the pod held its GPUs, to about an hour; NULL if it never held them, or the end of the loaded data cuts it off; derived.';
comment on column asi.standard_job_v1.run_s is 'Time for which the pod held its GPUs: GPU time held over GPUs requested; NULL for pods that the loaded data cut off; derived.';
comment on column asi.standard_job_v1.observed_run_s is 'Time for which the pod was seen to hold its GPUs: GPU time held over GPUs requested, at most its lifetime; derived.';
comment on column asi.standard_job_v1.allocated_gpus is 'GPUs that the pod requests, if it held them at some time; derived.';
comment on column asi.standard_job_v1.workload is 'Kind of job; NULL if unknown; derived.';
comment on column asi.standard_job_v1.partition_name is 'GPU model of the server; derived.';
