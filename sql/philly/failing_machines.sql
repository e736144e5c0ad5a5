-- Excess of failed attempts by machine (Philly attempts)
-- caveat: philly.machine_list_disagrees
-- chart: bar x=machine_id y=excess yname=failed_attempts_above_the_expected_number xname=machine note=Expected: the attempts on the machine times the failed share of all machines.
-- column: attempts: Attempts that ran on the machine
-- column: failed_attempts: Attempts on the machine that failed, or that another attempt of the job followed
-- column: failed_pct: Share of the attempts on the machine that failed
-- column: failed_share_pct: Share of the machine in the failed attempts of all machines
-- column: expected_failed_attempts: Failed attempts that the machine would have with the share of all machines together
-- column: excess [attempts]: Failed attempts above the expected number
create or replace macro philly.failing_machines(
    -- number of machines to list, those with the most failed attempts above expectation [1 to 1000000]
    top integer := 20
) as table
-- An attempt counts once on each of its machines.
with placed as (
    select distinct
        jobid,
        attempt,
        ip
    from philly.attempt_machine
    where ip is not null
),

attempts as (
    select
        placed.ip as machine_id,
        not attempt.is_last or job.status = 'Failed' as failed
    from placed
    inner join philly.attempt_run as attempt
        on placed.jobid = attempt.job_id and placed.attempt = attempt.attempt
    left join philly.job as job on placed.jobid = job.jobid
),

machines as (
    select
        machine_id,
        count(*) as attempts,
        count(*) filter (where failed) as failed_attempts
    from attempts
    group by machine_id
),

expected as (
    select
        machine_id,
        attempts,
        failed_attempts,
        100.0 * failed_attempts / nullif(sum(failed_attempts) over (), 0) as failed_share_pct,
        attempts * sum(failed_attempts) over () / sum(attempts) over () as expected_failed_attempts
    from machines
)

select
    machine_id,
    attempts,
    failed_attempts,
    100.0 * failed_attempts / attempts as failed_pct,
    failed_share_pct,
    expected_failed_attempts,
    failed_attempts - expected_failed_attempts as excess
from expected
qualify row_number() over (order by failed_attempts - expected_failed_attempts desc, machine_id asc) <= top
order by excess desc, machine_id asc;

comment on macro table philly.failing_machines is
'Machines with more failed attempts than expected, the largest excess first: attempts that ran on the machine, how '
'many of them failed, and how many would have with the failed share of all machines. An attempt failed if another '
'attempt of its job followed, or if it was the last one of a job with the status Failed. An attempt on several machines '
'counts on each, although at most one of them may have caused the failure, and a preempted attempt that was followed '
'by another counts as failed, because the log does not give reasons. Attempts without a machine in the log do not '
'count; attempts that had not ended when the log ended count as not failed. An excess shows where failures happen, not '
'that the machine is at fault: jobs that fail again and again are placed somewhere, and chance alone lifts the first of '
'some hundred machines.';
