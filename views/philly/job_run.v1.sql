-- Philly jobs, their attempts combined as in the publisher's notebook.
-- grain: one row per job
-- source: README of msr-fiddle/philly-traces, and its notebook, Philly Trace Analysis.ipynb, for wait, run and GPUs
-- answers: submission, requested GPUs, user
-- caveat: philly.attempts_lack_times: wait_s run_s end_s held_gpu_s
-- caveat: philly.gpus_are_those_used: allocated_gpus gpu_band
-- caveat: philly.log_has_no_zone: submit_s end_s
-- caveat: philly.run_includes_retries: run_s
-- resolves_caveat: philly.no_end_means_running: run_s end_s
create or replace view philly.job_run_v1 as
with first_attempts as (
    select
        job_id,
        start_s,
        allocated_gpus,
        machines
    from philly.attempt_run_v1
    where attempt = 1
),

last_attempts as (
    select
        job_id,
        end_s
    from philly.attempt_run_v1
    where is_last
),

sums as (
    select
        job_id,
        count(*) as attempts,
        stats.fsum(held_gpu_s) as held_gpu_s,
        stats.fsum(case when not is_last then held_gpu_s end) as earlier_gpu_s
    from philly.attempt_run_v1
    group by job_id
)

select
    job.jobid as job_id,
    job.vc,
    job."user" as user_id,
    job.status as published_status,
    epoch(job.submitted_time) as submit_s,
    first_attempts.start_s - epoch(job.submitted_time) as wait_s,
    last_attempts.end_s - first_attempts.start_s as run_s,
    last_attempts.end_s,
    coalesce(sums.attempts, 0) as attempts,
    first_attempts.allocated_gpus,
    case
        when first_attempts.allocated_gpus = 0 then 'no GPU'
        when first_attempts.allocated_gpus = 1 then '1'
        when first_attempts.allocated_gpus <= 4 then '2 to 4'
        when first_attempts.allocated_gpus <= 8 then '5 to 8'
        when first_attempts.allocated_gpus > 8 then '9 and more'
    end as gpu_band,
    first_attempts.machines,
    sums.held_gpu_s,
    -- 0 if the job is known to have held no GPUs in earlier attempts, NULL if that is unknown.
    coalesce(sums.earlier_gpu_s, 0 * sums.held_gpu_s) as earlier_gpu_s,
    coalesce(sums.attempts > 0 and last_attempts.end_s is null, false) as is_censored
from philly.job as job
left join first_attempts on job.jobid = first_attempts.job_id
left join last_attempts on job.jobid = last_attempts.job_id
left join sums on job.jobid = sums.job_id;

comment on column philly.job_run_v1.submit_s is 'Submission, seconds since 1970 on the log''s clock; measured.';
comment on column philly.job_run_v1.wait_s is 'Seconds from submission to the start of the first attempt; derived.';
comment on column philly.job_run_v1.run_s is 'Seconds from the start of the first attempt to the end of the last, including the time between attempts; derived.';
comment on column philly.job_run_v1.end_s is 'End of the last attempt, seconds since 1970 on the log''s clock; measured.';
comment on column philly.job_run_v1.attempts is 'Attempts to run the job; 0 if none is recorded; derived.';
comment on column philly.job_run_v1.allocated_gpus is 'GPUs that the first attempt used; NULL without an attempt; derived.';
comment on column philly.job_run_v1.gpu_band is 'Band of allocated_gpus, as in the publisher''s figures: 1, 2 to 4, 5 to 8, 9 and more; no GPU if the log lists none for the attempt; derived.';
comment on column philly.job_run_v1.machines is 'Machines of the first attempt; NULL without an attempt; derived.';
comment on column philly.job_run_v1.held_gpu_s is 'GPU-seconds of all attempts whose start and end are known; NULL where there is none; derived.';
comment on column philly.job_run_v1.earlier_gpu_s is 'GPU-seconds of the attempts before the last; derived.';
comment on column philly.job_run_v1.is_censored is 'Whether the last attempt has no end: it was still running, or the end was not logged; derived.';
