-- Excess of failed attempts by machine (Philly attempts)
-- caveat: philly.machine_list_disagrees
-- chart: bar x=machine_id y=excess
-- column: attempts: Attempts that ran on the machine
-- column: ended_in_failure: Attempts on the machine that failed, or that another attempt of the job followed
-- column: failed_pct: Share of the attempts on the machine that failed
-- column: failed_share_pct: Share of the machine in the failed attempts of all machines
-- column: expected_failures: Failed attempts that the machine would have with the share of all machines together
-- column: excess: Failed attempts above the expected number
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
        count(*) filter (where failed) as ended_in_failure
    from attempts
    group by machine_id
),

totals as (
    select
        sum(attempts) as attempts,
        sum(ended_in_failure) as ended_in_failure
    from machines
),

expected as (
    select
        machines.machine_id,
        machines.attempts,
        machines.ended_in_failure,
        100.0 * machines.ended_in_failure / nullif(totals.ended_in_failure, 0) as failed_share_pct,
        machines.attempts * totals.ended_in_failure / totals.attempts as expected_failures
    from machines
    cross join totals
),

ranked as (
    select
        *,
        row_number() over (order by ended_in_failure - expected_failures desc, machine_id asc) as place
    from expected
)

select
    machine_id,
    attempts,
    ended_in_failure,
    100.0 * ended_in_failure / attempts as failed_pct,
    failed_share_pct,
    expected_failures,
    ended_in_failure - expected_failures as excess
from ranked
where place <= top
order by place;

comment on macro table philly.failing_machines is
'Machines with more failed attempts than expected, the largest excess first: attempts that ran on the machine, how '
'many of them failed, and how many would have with the failed share of all machines. An attempt failed if another '
'attempt of its job followed, or if it was the last one of a job with the status Failed. An attempt on several machines '
'counts on each, although at most one of them may have caused the failure, and a preempted attempt that was followed '
'by another counts as failed, because the log does not give reasons. Attempts without a machine in the log do not '
'count; attempts that had not ended when the log ended count as not failed. An excess shows where failures happen, not '
'that the machine is at fault: jobs that fail again and again are placed somewhere, and chance alone lifts the first of '
'some hundred machines.';
