-- Philly jobs in the standard format.
-- grain: one row per job
-- source: README of msr-fiddle/philly-traces, cluster_job_log
-- caveat: philly.log_has_no_zone: submit_s end_s
-- caveat: philly.run_includes_retries: run_s observed_run_s
-- caveat: philly.gpus_are_those_used: requested_gpus requested_gpus_per_instance
create or replace view philly.standard_job_v2 as
with clock as (
    select local_offset_s
    from catalog.clocks
    where clock = 'philly.log'
),

-- The last time of a job without an end: whether it ran on to the end of the trace, the log does not tell.
seen as (
    select
        job_id,
        min(start_s) as first_start_s,
        greatest(max(start_s), max(end_s)) as last_seen_s
    from philly.attempt_run_v1
    group by job_id
)

select
    cast(null as varchar) as cluster,
    job.job_id,
    job.user_id,
    cast(null as varchar) as group_id,
    -- No zone is written.
    cast(null as timestamptz) as submit_time,
    job.submit_s,
    job.submit_s + (select clock.local_offset_s from clock) as local_submit_s,
    job.wait_s,
    job.wait_s as observed_wait_s,
    seen.first_start_s as observed_start_s,
    job.run_s,
    coalesce(job.run_s, nullif(seen.last_seen_s - seen.first_start_s, 0)) as observed_run_s,
    job.end_s,
    cast(null as double) as requested_cpus,
    cast(null as double) as allocated_cpus,
    cast(job.allocated_gpus as double) as requested_gpus,
    cast(job.allocated_gpus as double) as requested_gpus_per_instance,
    cast(job.allocated_gpus as double) as allocated_gpus,
    cast(null as double) as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    job.held_gpu_s,
    case job.published_status
        when 'Pass' then 'completed'
        when 'Killed' then 'cancelled'
        when 'Failed' then 'failed'
        else 'unknown'
    end as status,
    job.is_censored as is_right_censored,
    false as is_left_censored,
    cast(null as varchar) as workload,
    job.vc as partition_name
from philly.job_run_v1 as job
left join seen on job.job_id = seen.job_id;
