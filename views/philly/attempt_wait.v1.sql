-- Queueing delay of each attempt, from submission or the end of the attempt before (Philly).
-- grain: one row per (job_id, attempt)
-- source: notebook of msr-fiddle/philly-traces, figure 3: each period between being queued and being placed counts once
-- caveat: philly.attempts_lack_times: queued_from_s wait_s
-- caveat: philly.log_has_no_zone: queued_from_s
-- resolves_caveat: philly.no_end_means_running
create or replace view philly.attempt_wait_v1 as
with queued as (
    select
        attempt.job_id,
        attempt.attempt,
        attempt.allocated_gpus,
        attempt.start_s,
        case
            when attempt.attempt = 1 then epoch(job.submitted_time)
            else lag(attempt.end_s) over (partition by attempt.job_id order by attempt.attempt)
        end as queued_from_s
    from philly.attempt_run_v1 as attempt
    inner join philly.job as job on attempt.job_id = job.jobid
)

select
    job_id,
    attempt,
    allocated_gpus,
    queued_from_s,
    start_s - queued_from_s as wait_s
from queued;

comment on column philly.attempt_wait_v1.queued_from_s is 'Submission of the job for its first attempt, else the end of the attempt before, seconds since 1970 on the log''s clock; NULL if it was not logged; derived.';
comment on column philly.attempt_wait_v1.wait_s is 'Seconds from then to the start of the attempt; NULL if either is not logged; derived.';
