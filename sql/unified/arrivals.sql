-- Inter-arrival times by cluster (GPU jobs of all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: itp.num_gpu_requested_or_used
-- resolves_caveat: openb.times_from_first_pod
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: philly.log_has_no_zone
-- resolves_caveat: spot.durations_are_cut_off
-- resolves_caveat: spot.request_is_per_worker
-- chart: bar x=trace+cluster y=cv_gap color=trace xname=cluster yname=coefficient_of_variation_of_the_gaps note=1 is that of a Poisson process; higher is burstier. title=Variation of inter-arrival times by cluster (GPU jobs of all traces)
-- column: jobs: Jobs submitted in the trace, except skipped jobs; only GPU jobs if gpu_only is true
-- column: skipped_jobs: First jobs, which are left out
-- column: span_days [days]: Days from the first submission counted to the last
-- column: jobs_per_day [jobs per day]: Jobs submitted per day
-- column: mean_gap_s: Mean gap between consecutive submissions
-- column: cv_gap [ratio]: Standard deviation of the gaps over their mean
-- column: same_second_pct: Share of the jobs submitted in the same second as another
-- column: with_submission_pct: Share of the jobs that are known to be submitted in the trace
create or replace macro unified.arrivals(
    gpu_only boolean := true,
    skip_first_pct double := 0,
    from_hour bigint := null,
    in_trace varchar := null
) as table
-- A job that may have been submitted before the trace began has no known submission.
with jobs as (
    select
        trace,
        cluster,
        case when not is_left_censored then submit_s end as submit_s
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and (not gpu_only or requested_gpus > 0)
),

coverage as (
    select
        trace,
        cluster,
        count(submit_s) as submitted_jobs,
        100.0 * count(submit_s) / count(*) as with_submission_pct
    from jobs
    group by trace, cluster
),

submitted as (
    select
        trace,
        cluster,
        submit_s
    from jobs
    where submit_s >= 3600 * coalesce(from_hour, stats.first_hour(trace))
),

ordered as (
    select
        trace,
        cluster,
        submit_s,
        count(*) over (partition by trace, cluster) as submitted_jobs,
        row_number() over by_time as place,
        lag(submit_s) over by_time as previous_s,
        lead(submit_s) over by_time as next_s
    from submitted
    window by_time as (partition by trace, cluster order by submit_s)
),

placed as (
    select
        trace,
        cluster,
        submit_s,
        previous_s,
        next_s,
        place - floor(submitted_jobs * skip_first_pct / 100) as place
    from ordered
),

-- The first of the jobs that are not skipped has no previous one.
submissions as (
    select
        trace,
        cluster,
        submit_s,
        case when place > 1 then previous_s end as previous_s,
        next_s
    from placed
    where place > 0
),

-- The gaps add up to the time from the first to the last submission.
spans as (
    select
        trace,
        cluster,
        max(submit_s) - min(submit_s) as span_s,
        (max(submit_s) - min(submit_s)) / nullif(count(*) - 1, 0) as mean_gap_s
    from submissions
    group by trace, cluster
),

-- Divides each deviation by the mean before squaring it, so that the squares stay small in any unit.
counted as (
    select
        submissions.trace,
        submissions.cluster,
        count(*) as jobs,
        max(spans.span_s) / 86400.0 as span_days,
        max(spans.mean_gap_s) as mean_gap_s,
        sqrt(
            stats.favg(
                power((submissions.submit_s - submissions.previous_s) / nullif(spans.mean_gap_s, 0) - 1, 2)
            )
        ) as cv_gap,
        100.0 * count(*) filter (
            where floor(submissions.submit_s) in (floor(submissions.previous_s), floor(submissions.next_s))
        ) / count(*) as same_second_pct
    from submissions
    inner join spans
        on submissions.trace = spans.trace and submissions.cluster is not distinct from spans.cluster
    group by submissions.trace, submissions.cluster
)

select
    counted.trace,
    counted.cluster,
    counted.jobs,
    coverage.submitted_jobs - counted.jobs as skipped_jobs,
    counted.span_days,
    counted.jobs / nullif(counted.span_days, 0) as jobs_per_day,
    counted.mean_gap_s,
    counted.cv_gap,
    counted.same_second_pct,
    coverage.with_submission_pct
from counted
inner join coverage
    on counted.trace = coverage.trace and counted.cluster is not distinct from coverage.cluster
order by counted.trace, counted.cluster nulls first;

comment on macro table unified.arrivals is
'Jobs submitted in the trace, per cluster; if gpu_only is true, only jobs that request a GPU. Jobs '
'submitted before from_hour are skipped, and the first skip_first_pct percent of the others; skipped_jobs is the number '
'of both. openb starts at hour 2640: its first 19 pods span 110 days, and with them cv_gap is 20.2 instead of 4.0. Of '
'the other jobs: days from the first to the last of them, gaps between consecutive submissions, and percentage of jobs submitted in '
'the same second as another. cv_gap is the standard deviation of the gaps over their mean: 1 where jobs '
'arrive independently at a constant rate, larger for bursts or a rate that changes over the day. Jobs '
'without a submission, and those that may have been submitted before the trace began (spot, in the first '
'second), are left out; with_submission_pct is the percentage of jobs of the cluster that are not.';
