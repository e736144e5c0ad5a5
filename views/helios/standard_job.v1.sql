-- Helios jobs in the standard format.
-- grain: one row per (cluster, job_id)
-- source: README of HeliosData, cluster_log.csv
-- answers: submission, requested GPUs
-- caveat: helios.most_jobs_have_no_gpu
-- caveat: helios.vc_names_are_shared: partition_name
-- caveat: helios.zone_is_assumed: submit_time
-- resolves_caveat: helios.failed_is_a_class
-- materialize: parquet by cluster, submit_s, job_id
create or replace view helios.standard_job_v1 as
-- Times are local times, so the offset to the local hour is 0.
with clock as (
    select local_offset_s
    from catalog.clocks
    where clock = 'helios.local'
),

seconds as (
    select
        cluster,
        job_id,
        "user" as user_id,
        vc,
        state,
        cast(cpu_num as double) as requested_cpus,
        cast(gpu_num as double) as requested_gpus,
        epoch(submit_time) as submit_s,
        epoch(start_time) as start_s,
        epoch(end_time) as end_s,
        epoch(max(greatest(submit_time, start_time, end_time)) over (partition by cluster)) as trace_end_s
    from helios.job
)

select
    cluster,
    job_id,
    user_id,
    cast(null as varchar) as group_id,
    -- China's time zone is an assumption.
    to_timestamp(submit_s - 28800) as submit_time,
    submit_s,
    submit_s + (select clock.local_offset_s from clock) as local_submit_s,
    start_s - submit_s as wait_s,
    -- A job with an end but no start was withdrawn.
    coalesce(start_s, end_s) - submit_s as observed_wait_s,
    start_s as observed_start_s,
    end_s - start_s as run_s,
    coalesce(end_s, trace_end_s) - start_s as observed_run_s,
    end_s,
    requested_cpus,
    cast(null as double) as allocated_cpus,
    requested_gpus,
    requested_gpus as requested_gpus_per_instance,
    cast(null as double) as allocated_gpus,
    cast(null as double) as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    requested_gpus * (coalesce(end_s, trace_end_s) - start_s) as held_gpu_s,
    case
        when state = 'COMPLETED' then 'completed'
        when state = 'CANCELLED' then 'cancelled'
        when state in ('FAILED', 'TIMEOUT', 'NODE_FAIL') then 'failed'
        else 'unknown'
    end as status,
    start_s is not null and end_s is null as is_right_censored,
    false as is_left_censored,
    cast(null as varchar) as workload,
    vc as partition_name
from seconds;

comment on column helios.standard_job_v1.job_id is 'Job id, unique within a cluster; measured.';
comment on column helios.standard_job_v1.submit_s is 'Submission, seconds since 1970 in local time; measured.';
comment on column helios.standard_job_v1.end_s is 'End, seconds since 1970 in local time; measured.';
comment on column helios.standard_job_v1.submit_time is 'Submission as an instant, assuming that the clusters keep the time of China, as no zone is recorded; derived.';
comment on column helios.standard_job_v1.status is 'completed, cancelled or failed, which includes TIMEOUT and NODE_FAIL; unknown for SUSPENDED; derived.';
comment on column helios.standard_job_v1.partition_name is 'Virtual cluster, a name that clusters share; measured.';
