-- Burstiness of job arrivals (GPU jobs of all traces)
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
-- chart: point x=trace+cluster y=dispersion color=trace xname=cluster yname=variance_over_mean_of_jobs_per_hour note=1 is that of a Poisson process; higher is burstier.
-- column: jobs: Jobs submitted in the trace, except skipped jobs; only GPU jobs if gpu_only is true
-- column: skipped_jobs: First jobs of the cluster, which are left out, and those before from_hour
-- column: hours [h]: Number of hours counted
-- column: hourly_jobs: Jobs submitted in an hour
-- column: dispersion [ratio]: Variance of the jobs submitted in an hour over their mean
-- column: cv_hourly_jobs [ratio]: Standard deviation of the jobs submitted in an hour over their mean
-- column: autocorrelation_24h [ratio]: Autocorrelation of hourly arrivals at a lag of one day
-- column: autocorrelation_168h [ratio]: Autocorrelation of hourly arrivals at a lag of one week
-- column: user_burst_pct: Share of the jobs that follow shortly after one of the same user
-- column: with_user_pct: Share of the jobs whose user is known
-- column: with_submission_pct: Share of the jobs that are known to be submitted in the trace
create or replace macro unified.arrival_burstiness(
    gpu_only boolean := true,
    skip_first_pct double := 0,
    -- a job belongs to a burst if it comes at most this many seconds after the previous job of its user [0 to
    -- 1000000]
    burst_s double := 60,
    from_hour bigint := null,
    in_trace varchar := null
) as table
-- A job that may have been submitted before the trace began has no known submission.
with jobs as (
    select
        trace,
        cluster,
        job_id,
        user_id,
        case when not is_left_censored then submit_s end as submit_s,
        case when not is_left_censored then cast(floor(submit_s / 3600) as bigint) end as hour
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

submissions_by_hour as (
    select
        trace,
        cluster,
        hour,
        count(*) as jobs
    from jobs
    where hour >= coalesce(from_hour, stats.first_hour(trace))
    group by trace, cluster, hour
),

submissions_so_far as (
    select
        trace,
        cluster,
        hour,
        sum(jobs) over (partition by trace, cluster order by hour) as jobs_so_far,
        sum(jobs) over (partition by trace, cluster order by hour) - jobs as jobs_before,
        floor(sum(jobs) over (partition by trace, cluster) * skip_first_pct / 100) as skipped_jobs
    from submissions_by_hour
),

-- The first hour that is not skipped as a whole. Only its jobs need an order.
first_hours as (
    select
        trace,
        cluster,
        hour,
        skipped_jobs - jobs_before as skipped_jobs
    from submissions_so_far
    where jobs_before <= skipped_jobs and skipped_jobs < jobs_so_far
),

ordered as (
    select
        jobs.trace,
        jobs.cluster,
        jobs.user_id,
        jobs.submit_s,
        jobs.hour,
        first_hours.skipped_jobs,
        row_number() over (
            partition by jobs.trace, jobs.cluster order by jobs.submit_s, jobs.job_id
        ) as place
    from jobs
    inner join first_hours
        on
            jobs.trace = first_hours.trace
            and jobs.cluster is not distinct from first_hours.cluster
            and jobs.hour = first_hours.hour
),

arrivals as (
    select
        trace,
        cluster,
        user_id,
        submit_s,
        hour
    from ordered
    where place > skipped_jobs
    union all
    select
        jobs.trace,
        jobs.cluster,
        jobs.user_id,
        jobs.submit_s,
        jobs.hour
    from jobs
    inner join first_hours
        on
            jobs.trace = first_hours.trace
            and jobs.cluster is not distinct from first_hours.cluster
            and jobs.hour > first_hours.hour
),

gaps as (
    select
        trace,
        cluster,
        submit_s - lag(submit_s) over (partition by trace, cluster, user_id order by submit_s) as user_gap_s
    from arrivals
    where user_id is not null
),

bursts as (
    select
        trace,
        cluster,
        count(*) as jobs_with_user,
        count(*) filter (where user_gap_s <= burst_s) as burst_jobs
    from gaps
    group by trace, cluster
),

-- The hours of the first and of the last job are covered in part only.
covered as (
    select
        trace,
        cluster,
        count(*) as jobs,
        cast(ceil(min(submit_s) / 3600) as bigint) as first_hour,
        cast(floor(max(submit_s) / 3600) as bigint) - 1 as last_hour
    from arrivals
    group by trace, cluster
),

hourly as (
    select
        arrivals.trace,
        arrivals.cluster,
        arrivals.hour,
        covered.first_hour,
        covered.last_hour,
        count(*) as jobs
    from arrivals
    inner join covered
        on
            arrivals.trace = covered.trace
            and arrivals.cluster is not distinct from covered.cluster
            and arrivals.hour between covered.first_hour and covered.last_hour
    group by arrivals.trace, arrivals.cluster, arrivals.hour, covered.first_hour, covered.last_hour
),

-- Hours without a job have no row, and add nothing to the sums of products.
earlier as (
    select
        *,
        sum(jobs) over (
            partition by trace, cluster order by hour range between 24 preceding and 24 preceding
        ) as jobs_24h_earlier,
        sum(jobs) over (
            partition by trace, cluster order by hour range between 168 preceding and 168 preceding
        ) as jobs_168h_earlier
    from hourly
),

-- The jobs of an hour count once for each hour of the trace that is 24 or 168 hours earlier or later.
counted as (
    select
        trace,
        cluster,
        cast(sum(jobs) as bigint) as jobs,
        max(last_hour) - min(first_hour) + 1 as hours,
        max(jobs) as max_hourly_jobs,
        cast(sum(jobs * jobs) as double) as jobs_squared,
        coalesce(cast(sum(jobs * jobs_24h_earlier) as double), 0) as products_24h,
        coalesce(cast(sum(jobs * jobs_168h_earlier) as double), 0) as products_168h,
        coalesce(sum(jobs) filter (where hour <= last_hour - 24), 0)
        + coalesce(sum(jobs) filter (where hour >= first_hour + 24), 0) as paired_jobs_24h,
        coalesce(sum(jobs) filter (where hour <= last_hour - 168), 0)
        + coalesce(sum(jobs) filter (where hour >= first_hour + 168), 0) as paired_jobs_168h
    from earlier
    group by trace, cluster
),

measured as (
    select
        trace,
        cluster,
        jobs,
        hours,
        jobs / nullif(hours, 0) as mean_hourly_jobs,
        max_hourly_jobs,
        jobs_squared,
        hours * jobs_squared - cast(jobs as double) * jobs as deviation,
        hours * products_24h - cast(jobs as double) * paired_jobs_24h
        + cast(jobs as double) * jobs * (hours - 24) / hours as deviation_24h,
        hours * products_168h - cast(jobs as double) * paired_jobs_168h
        + cast(jobs as double) * jobs * (hours - 168) / hours as deviation_168h
    from counted
)

select
    covered.trace,
    covered.cluster,
    covered.jobs,
    coverage.submitted_jobs - covered.jobs as skipped_jobs,
    greatest(covered.last_hour - covered.first_hour + 1, 0) as hours,
    measured.mean_hourly_jobs,
    measured.max_hourly_jobs,
    measured.jobs_squared / measured.jobs - measured.mean_hourly_jobs as dispersion,
    sqrt(
        greatest(measured.jobs_squared / measured.jobs / nullif(measured.mean_hourly_jobs, 0) - 1, 0)
    ) as cv_hourly_jobs,
    -- NULL unless at least two days, or two weeks, are covered.
    case when measured.hours >= 48 then measured.deviation_24h / nullif(measured.deviation, 0) end
        as autocorrelation_24h,
    case when measured.hours >= 336 then measured.deviation_168h / nullif(measured.deviation, 0) end
        as autocorrelation_168h,
    100.0 * bursts.burst_jobs / nullif(bursts.jobs_with_user, 0) as user_burst_pct,
    100.0 * coalesce(bursts.jobs_with_user, 0) / covered.jobs as with_user_pct,
    coverage.with_submission_pct
from covered
inner join coverage
    on covered.trace = coverage.trace and covered.cluster is not distinct from coverage.cluster
left join measured
    on covered.trace = measured.trace and covered.cluster is not distinct from measured.cluster
left join bursts
    on covered.trace = bursts.trace and covered.cluster is not distinct from bursts.cluster
order by covered.trace, covered.cluster nulls first;

comment on macro table unified.arrival_burstiness is
'Jobs submitted in the trace per cluster. Those before from_hour are left out, and skip_first_pct percent of the others, '
'rounded down, in order of submission and job_id; skipped_jobs counts both. openb starts at hour 2640, because its first '
'19 pods span 110 days, in which almost every hour is empty. hours counts the complete hours of the trace''s '
'own clock between the first job and the last, including hours without a job; the jobs before and after them '
'are in no figure per hour. mean_hourly_jobs and max_hourly_jobs are the mean and maximum of jobs per hour. dispersion is the '
'population variance of jobs per hour over their mean: 1 where jobs arrive independently at a constant '
'rate, larger for bursts or a rate that changes over the day. cv_hourly_jobs is their standard deviation '
'over their mean. autocorrelation_24h and autocorrelation_168h measure how similar an hour is to the same '
'hour of the previous day and week: the sum of products of deviations from the mean over all pairs of '
'hours that far apart, over the sum of squared deviations; 0 without repetition, NULL if fewer than 48 or '
'336 hours are counted or all hours are equal. user_burst_pct is the percentage of jobs with a known user '
'that came at most burst_s seconds after the previous job of that user in the cluster; with_user_pct is '
'the percentage of jobs with a known user; user_burst_pct is NULL where no user is known. '
'with_submission_pct is the percentage of jobs of the cluster with a submission in the trace; the others, '
'and those that may have been submitted before it began (spot, in the first second), are left out.';
