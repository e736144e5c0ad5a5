-- Burstiness of job arrivals by cluster (all traces)
-- param: burst_s: a job belongs to a burst if it comes at most this many seconds after the previous job of its user
-- range: burst_s: 0 to 1000000
-- chart: point x=trace y=dispersion yname=variance_over_mean_of_jobs_per_hour
-- column: jobs: Jobs submitted in the trace, except skipped jobs; only GPU jobs if gpu_only is true
-- column: skipped_jobs: First jobs of the cluster, which are left out
create or replace macro unified.arrival_burstiness(
    gpu_only boolean := true, skip_first_pct double := 0, burst_s double := 60
) as table
-- A job that may have been submitted before the trace began has no known submission.
with jobs as (
    select
        trace,
        cluster,
        job_id,
        user_id,
        case when not is_left_censored then submit_s end as submit_s
    from unified.jobs
    where not gpu_only or requested_gpus > 0
),

coverage as (
    select
        trace,
        cluster,
        100.0 * count(submit_s) / count(*) as with_submission_pct
    from jobs
    group by trace, cluster
),

ordered as (
    select
        trace,
        cluster,
        user_id,
        submit_s,
        row_number() over (partition by trace, cluster order by submit_s, job_id) as place,
        count(*) over (partition by trace, cluster) as submitted_jobs
    from jobs
    where submit_s is not null
),

arrivals as (
    select
        trace,
        cluster,
        user_id,
        submitted_jobs,
        cast(floor(submit_s / 3600) as bigint) as hour,
        submit_s - lag(submit_s) over (partition by trace, cluster, user_id order by submit_s) as user_gap_s
    from ordered
    where place > floor(submitted_jobs * skip_first_pct / 100)
),

counted as (
    select
        trace,
        cluster,
        count(*) as jobs,
        max(submitted_jobs) - count(*) as skipped_jobs,
        min(hour) as first_hour,
        max(hour) as last_hour,
        max(hour) - min(hour) + 1 as hours,
        count(*) / nullif(max(hour) - min(hour) + 1, 0) as mean_hourly_jobs,
        count(user_id) as jobs_with_user,
        count(*) filter (where user_id is not null and user_gap_s <= burst_s) as burst_jobs
    from arrivals
    group by trace, cluster
),

hourly as (
    select
        trace,
        cluster,
        hour,
        count(*) as jobs
    from arrivals
    group by trace, cluster, hour
),

squares as (
    select
        trace,
        cluster,
        max(jobs) as max_hourly_jobs,
        cast(sum(jobs * jobs) as double) as jobs_squared
    from hourly
    group by trace, cluster
),

lagged as (
    select
        trace,
        cluster,
        hour,
        jobs,
        unnest([24, 168]) as lag_h
    from hourly
),

-- Hours without a job have no row: the formula below adds their part of the sums.
products as (
    select
        earlier.trace,
        earlier.cluster,
        earlier.lag_h,
        cast(sum(earlier.jobs * later.jobs) as double) as jobs_multiplied
    from lagged as earlier
    inner join hourly as later
        on
            earlier.trace = later.trace
            and earlier.cluster is not distinct from later.cluster
            and earlier.hour + earlier.lag_h = later.hour
    group by earlier.trace, earlier.cluster, earlier.lag_h
),

with_partner as (
    select
        lagged.trace,
        lagged.cluster,
        lagged.lag_h,
        coalesce(sum(lagged.jobs) filter (where lagged.hour <= counted.last_hour - lagged.lag_h), 0)
        + coalesce(sum(lagged.jobs) filter (where lagged.hour >= counted.first_hour + lagged.lag_h), 0)
            as jobs
    from lagged
    inner join counted
        on lagged.trace = counted.trace and lagged.cluster is not distinct from counted.cluster
    group by lagged.trace, lagged.cluster, lagged.lag_h
),

autocorrelations as (
    select
        counted.trace,
        counted.cluster,
        with_partner.lag_h,
        (
            counted.hours * coalesce(products.jobs_multiplied, 0)
            - cast(counted.jobs as double) * with_partner.jobs
            + cast(counted.jobs as double) * counted.jobs
            * (counted.hours - with_partner.lag_h) / counted.hours
        )
        / nullif(counted.hours * squares.jobs_squared - cast(counted.jobs as double) * counted.jobs, 0)
            as autocorrelation
    from counted
    inner join squares
        on counted.trace = squares.trace and counted.cluster is not distinct from squares.cluster
    inner join with_partner
        on counted.trace = with_partner.trace and counted.cluster is not distinct from with_partner.cluster
    left join products
        on
            with_partner.trace = products.trace
            and with_partner.cluster is not distinct from products.cluster
            and with_partner.lag_h = products.lag_h
    where counted.hours >= 2 * with_partner.lag_h
),

by_lag as (
    select
        trace,
        cluster,
        max(autocorrelation) filter (where lag_h = 24) as autocorrelation_24h,
        max(autocorrelation) filter (where lag_h = 168) as autocorrelation_168h
    from autocorrelations
    group by trace, cluster
)

select
    counted.trace,
    counted.cluster,
    counted.jobs,
    counted.skipped_jobs,
    counted.hours,
    counted.mean_hourly_jobs,
    squares.max_hourly_jobs,
    squares.jobs_squared / counted.jobs - counted.mean_hourly_jobs as dispersion,
    sqrt(
        greatest(squares.jobs_squared / counted.jobs / nullif(counted.mean_hourly_jobs, 0) - 1, 0)
    ) as cv_hourly_jobs,
    by_lag.autocorrelation_24h,
    by_lag.autocorrelation_168h,
    100.0 * counted.burst_jobs / nullif(counted.jobs_with_user, 0) as user_burst_pct,
    100.0 * counted.jobs_with_user / counted.jobs as with_user_pct,
    coverage.with_submission_pct
from counted
inner join squares
    on counted.trace = squares.trace and counted.cluster is not distinct from squares.cluster
-- NULL unless at least two days, or two weeks, are covered.
left join by_lag
    on counted.trace = by_lag.trace and counted.cluster is not distinct from by_lag.cluster
inner join coverage
    on counted.trace = coverage.trace and counted.cluster is not distinct from coverage.cluster
order by counted.trace, counted.cluster nulls first;

comment on macro table unified.arrival_burstiness is 'Jobs submitted in the trace per cluster. skip_first_pct percent of them, rounded down, are left out in order of submission and job_id; skipped_jobs counts these. hours counts all whole hours of the trace''s own clock from that of the first job to that of the last, including hours without a job; mean_hourly_jobs and max_hourly_jobs are the mean and maximum of jobs per hour. dispersion is the population variance of jobs per hour over their mean: 1 where jobs arrive independently at a constant rate, larger for bursts or a rate that changes over the day. cv_hourly_jobs is their standard deviation over their mean. autocorrelation_24h and autocorrelation_168h measure how similar an hour is to the same hour of the previous day and week: the sum of products of deviations from the mean over all pairs of hours that far apart, over the sum of squared deviations; 0 without repetition, NULL if fewer than 48 or 336 hours are counted or all hours are equal. user_burst_pct is the percentage of jobs with a known user that came at most burst_s seconds after the previous job of that user in the cluster; with_user_pct is the percentage of jobs with a known user; user_burst_pct is NULL where no user is known. with_submission_pct is the percentage of jobs of the cluster with a submission in the trace; the others, and those that may have been submitted before it began (spot, in the first second), are left out.';
