-- Attempts to run a job: times, GPUs and machines (Philly).
-- grain: one row per (job_id, attempt)
-- source: README of msr-fiddle/philly-traces, cluster_job_log
-- answers: allocated GPUs
-- caveat: philly.attempts_lack_times: run_s held_gpu_s
-- caveat: philly.log_has_no_zone: start_s end_s
-- caveat: philly.no_end_means_running: end_s
-- resolves_caveat: philly.run_includes_retries
create or replace view philly.attempt_run_v1 as
with used as (
    select
        jobid,
        attempt,
        unnest(gpus) as gpu
    from philly.attempt_machine
),

gpus as (
    select
        jobid,
        attempt,
        count(*) as allocated_gpus
    from used
    group by jobid, attempt
),

machines as (
    select
        jobid,
        attempt,
        count(distinct ip) as machines
    from philly.attempt_machine
    group by jobid, attempt
),

last_attempts as (
    select
        jobid,
        max(attempt) as attempt
    from philly.attempt
    group by jobid
),

seconds as (
    select
        jobid,
        attempt,
        epoch(start_time) as start_s,
        epoch(end_time) as end_s
    from philly.attempt
)

select
    seconds.jobid as job_id,
    seconds.attempt,
    coalesce(seconds.attempt = last_attempts.attempt, false) as is_last,
    seconds.start_s,
    seconds.end_s,
    seconds.end_s - seconds.start_s as run_s,
    coalesce(gpus.allocated_gpus, 0) as allocated_gpus,
    coalesce(machines.machines, 0) as machines,
    coalesce(gpus.allocated_gpus, 0) * (seconds.end_s - seconds.start_s) as held_gpu_s
from seconds
left join gpus on seconds.jobid = gpus.jobid and seconds.attempt = gpus.attempt
left join machines on seconds.jobid = machines.jobid and seconds.attempt = machines.attempt
left join last_attempts on seconds.jobid = last_attempts.jobid;

comment on column philly.attempt_run_v1.is_last is 'Whether the job has no later attempt; derived.';
comment on column philly.attempt_run_v1.start_s is 'Start, seconds since 1970 on the log''s clock; NULL if it was not logged; measured.';
comment on column philly.attempt_run_v1.end_s is 'End, seconds since 1970 on the log''s clock; NULL if it was not logged or the job was still running; measured.';
comment on column philly.attempt_run_v1.run_s is 'Seconds from start to end; derived.';
comment on column philly.attempt_run_v1.allocated_gpus is 'GPUs that the attempt used, on all its machines; derived.';
comment on column philly.attempt_run_v1.machines is 'Machines that the attempt was placed on; derived.';
comment on column philly.attempt_run_v1.held_gpu_s is 'GPUs times run; NULL where no start or no end was logged; derived.';
