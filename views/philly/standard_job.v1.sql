-- Philly jobs in the standard format.
-- grain: one row per job
-- source: README of msr-fiddle/philly-traces, cluster_job_log
-- caveat: philly.gpus_are_those_used: requested_gpus requested_gpus_per_instance
-- caveat: philly.log_has_no_zone: submit_s end_s
-- caveat: philly.run_includes_retries: run_s observed_run_s
-- resolves_caveat: philly.log_has_no_zone: wait_s observed_wait_s run_s observed_run_s is_right_censored
-- materialize: parquet by submit_s, job_id
create or replace view philly.standard_job_v1 as
with clock as (
    select local_offset_s
    from catalog.clocks
    where clock = 'philly.log'
),

-- The last recorded time of a job without an end. The log does not say whether the job ran to the end of the trace.
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
    -- The log has no time zone.
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

comment on column philly.standard_job_v1.submit_s is 'Submission, seconds since 1970 on the log''s clock, in a time zone that is not recorded; measured.';
comment on column philly.standard_job_v1.run_s is 'Seconds from the start of the first attempt to the end of the last; derived.';
comment on column philly.standard_job_v1.end_s is 'End of the last attempt, seconds since 1970 on the log''s clock; measured.';
comment on column philly.standard_job_v1.requested_gpus is 'GPUs that the first attempt used, as requests are not published; NULL without an attempt; derived.';
comment on column philly.standard_job_v1.requested_gpus_per_instance is 'GPUs that the first attempt used, as requests are not published; derived.';
comment on column philly.standard_job_v1.allocated_gpus is 'GPUs that the first attempt used; derived.';
comment on column philly.standard_job_v1.held_gpu_s is 'GPUs of each attempt times its run, over all attempts whose start and end are known; derived.';
comment on column philly.standard_job_v1.status is 'completed for Pass, cancelled for Killed, failed for Failed; derived.';
comment on column philly.standard_job_v1.partition_name is 'Virtual cluster; measured.';
