-- The submission and the attempts of Philly's jobs as the log has them.
with machines as (
    select jobid, attempt, list(struct_pack(ip := ip, gpus := gpus) order by detail) as detail
    from philly.attempt_machine
    group by jobid, attempt
),

attempts as (
    select
        attempt.jobid,
        list(
            struct_pack(
                start_time := coalesce(strftime(attempt.start_time, '%Y-%m-%d %H:%M:%S'), 'None'),
                end_time := coalesce(strftime(attempt.end_time, '%Y-%m-%d %H:%M:%S'), 'None'),
                detail := coalesce(machines.detail, [])
            )
            order by attempt.attempt
        ) as attempts
    from philly.attempt as attempt
    left join machines on attempt.jobid = machines.jobid and attempt.attempt = machines.attempt
    group by attempt.jobid
)

select
    job.jobid as job_id,
    strftime(job.submitted_time, '%Y-%m-%d %H:%M:%S') as submitted_time,
    attempts.attempts
from philly.job as job
left join attempts on job.jobid = attempts.jobid
