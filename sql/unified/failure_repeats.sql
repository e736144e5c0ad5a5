-- Failures after the owner's last job (GPU jobs per trace)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: asi.workloads_are_missing
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: philly.log_has_no_zone
-- chart: bar x=trace y=failed_pct color=previous_outcome band=low_pct,high_pct interval=jackknife:{per} yname=failed_jobs_pct title=Share of jobs that fail by outcome of the previous job (GPU jobs per trace)
-- column: previous_outcome: Outcome of the job that the same owner submitted last before
-- column: jobs: Jobs whose owner's previous job had this outcome
-- column: failed_pct: Share of these jobs that failed
-- column: low_pct: Lower bound of the 95 % confidence interval of failed_pct
-- column: high_pct: Upper bound of the 95 % confidence interval of failed_pct
-- column: effective_units [units]: Equally large days, users or owners that would tell as much of the bounded share or percentile, whose bounds need ten
-- column: baseline_failed_pct: Share of the jobs that failed, whatever the outcome of the previous job
-- column: times_baseline [ratio]: Share of failed jobs over that of all previous outcomes together
-- column: expected_failed_pct: Share of these jobs that would fail if each owner had as many failures in any order
-- column: times_expected [ratio]: failed_pct in relation to expected_failed_pct
-- column: unknown_pct: Share of the GPU jobs for which the quantity is unknown
create or replace macro unified.failure_repeats(
    in_trace varchar := null,
    -- whose previous job counts: that of the same user or of the same group [user group]
    per varchar := 'user',
    -- longest time in seconds between the submissions of both jobs; NULL is any [0 to 1000000000]
    within_s double := null
) as table
with owned as (
    select
        trace,
        cluster,
        case when per = 'group' then group_id else user_id end as owner,
        job_id,
        submit_s,
        status,
        status in ('completed', 'failed', 'cancelled') as is_known
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0
),

pairs as (
    select
        trace,
        owner,
        status,
        lag(status) over by_owner as previous_outcome,
        submit_s - lag(submit_s) over by_owner as gap_s,
        count(*) over (partition by trace, cluster, owner) as owned_jobs,
        count(*) filter (where status = 'failed') over (partition by trace, cluster, owner) as owned_failures
    from owned
    where is_known and submit_s is not null and owner is not null
    window by_owner as (partition by trace, cluster, owner order by submit_s, job_id)
),

totals as (
    select
        trace,
        count(*) as all_jobs
    from owned
    group by trace
),

paired as (
    select
        trace,
        count(*) as paired_jobs
    from pairs
    where previous_outcome is not null
    group by trace
),

samples as ( -- noqa: ST03
    select
        trace,
        previous_outcome,
        owner,
        count(*) as jobs,
        count(*) filter (where status = 'failed') as failed_jobs,
        -- In any order, each of the owner's other jobs is as likely to be the next one.
        stats.fsum(
            (owned_failures - case when previous_outcome = 'failed' then 1 else 0 end) / (owned_jobs - 1.0)
        ) as expected_failures
    from pairs
    where previous_outcome is not null and (within_s is null or gap_s <= within_s)
    group by trace, previous_outcome, owner
),

counted as (
    select
        trace,
        previous_outcome,
        sum(jobs) as jobs,
        sum(failed_jobs) as failed_jobs,
        stats.fsum(expected_failures) as expected_failures
    from samples
    group by trace, previous_outcome
),

compared as (
    select
        trace,
        previous_outcome,
        cast(jobs as bigint) as jobs,
        100.0 * failed_jobs / jobs as failed_pct,
        100.0 * sum(failed_jobs) over (partition by trace) / sum(jobs) over (partition by trace)
            as baseline_failed_pct,
        100.0 * expected_failures / jobs as expected_failed_pct
    from counted
),

intervals as (
    select
        series.trace,
        series.previous_outcome,
        low_pct,
        high_pct,
        effective_units
    from stats.share_interval(
        'samples',
        { 'trace': trace, 'previous_outcome': previous_outcome },
        owner,
        failed_jobs,
        jobs
    )
)

select
    compared.trace,
    compared.previous_outcome,
    compared.jobs,
    compared.failed_pct,
    intervals.low_pct,
    intervals.high_pct,
    intervals.effective_units,
    compared.baseline_failed_pct,
    compared.failed_pct / nullif(compared.baseline_failed_pct, 0) as times_baseline,
    compared.expected_failed_pct,
    compared.failed_pct / nullif(compared.expected_failed_pct, 0) as times_expected,
    100.0 * (totals.all_jobs - paired.paired_jobs) / totals.all_jobs as unknown_pct
from compared
inner join totals on compared.trace = totals.trace
inner join paired on compared.trace = paired.trace
inner join intervals
    on compared.trace = intervals.trace and compared.previous_outcome = intervals.previous_outcome
order by compared.trace, compared.previous_outcome;

comment on macro table unified.failure_repeats is
'How many GPU jobs fail after a job of the same user, or of the same group with per, by the outcome of '
'that job: the one that the owner submitted last before it in the same cluster. Both jobs are GPU jobs '
'that completed, failed or were cancelled, with a known submission and owner; the earlier one need not '
'have ended when the later one was submitted. failed_pct is the percentage of the jobs that failed, '
'baseline_failed_pct the same over all previous outcomes, and times_baseline their ratio, which is above 1 '
'after failures if owners only differ in how often they fail. Within owners, expected_failed_pct is the percentage '
'if each owner had as many failures in any order, and times_expected the ratio to it: 1 if a failure says '
'nothing about the owner''s next job. low_pct and '
'high_pct are the bounds of the 95 % confidence interval of failed_pct, if the owners are a sample of similar '
'ones. effective_units: the number of owners with as many jobs each that would tell as much; with fewer than ten the bounds are NULL. With within_s, only jobs '
'whose previous job was submitted at most this long before count. unknown_pct is the percentage of the '
'GPU jobs of the trace without a known owner, submission or outcome, or without a previous job. A trace '
'that does not record owners or outcomes has no rows.';
