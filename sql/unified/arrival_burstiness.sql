-- How bursty are arrivals, from hour to hour, from day to day, and of one user?
-- param: gpu_only: count only jobs that request a GPU
-- param: skip_first_pct: leave out so many percent of each cluster's jobs, those that came first; openb's first 19 pods come in 110 days, and all others in 39
-- range: skip_first_pct: 0 to 99
-- param: burst_s: a job within so many seconds of the same user's previous one belongs to a burst
-- range: burst_s: 0 to 1000000
-- chart: bar x=trace y=dispersion color=cluster
-- column: jobs: Jobs with a submission, without those that are skipped, and without those that request no GPU unless asked for
-- column: skipped_jobs: Jobs of these that came first and are left out
create or replace macro unified.arrival_burstiness(
    gpu_only boolean := true, skip_first_pct double := 1, burst_s double := 60
) as table
with jobs as (
    select
        trace,
        cluster,
        job_id,
        user_id,
        submit_s
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

in_order as (
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

arrived as (
    select
        trace,
        cluster,
        user_id,
        submitted_jobs,
        cast(floor(submit_s / 3600) as bigint) as hour,
        submit_s - lag(submit_s) over (partition by trace, cluster, user_id order by submit_s) as user_gap_s
    from in_order
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
    from arrived
    group by trace, cluster
),

hourly as (
    select
        trace,
        cluster,
        hour,
        count(*) as jobs
    from arrived
    group by trace, cluster, hour
),

hours as (
    select
        trace,
        cluster,
        mean_hourly_jobs,
        unnest(generate_series(first_hour, last_hour)) as hour
    from counted
),

-- Each deviation over the mean, before it is squared: so the squares stay small, whatever the number of jobs.
deviations as (
    select
        hours.trace,
        hours.cluster,
        hours.hour,
        coalesce(hourly.jobs, 0) as jobs,
        coalesce(hourly.jobs, 0) / nullif(hours.mean_hourly_jobs, 0) - 1 as deviation
    from hours
    left join hourly
        on
            hours.trace = hourly.trace
            and hours.cluster is not distinct from hourly.cluster
            and hours.hour = hourly.hour
),

-- A lag of 24 rows would do, but one that has an offset cannot be read back from a database by DuckDB 1.5.
paired as (
    select
        deviations.trace,
        deviations.cluster,
        deviations.jobs,
        deviations.deviation,
        day_before.deviation as deviation_day_before,
        week_before.deviation as deviation_week_before
    from deviations
    left join deviations as day_before
        on
            deviations.trace = day_before.trace
            and deviations.cluster is not distinct from day_before.cluster
            and deviations.hour = day_before.hour + 24
    left join deviations as week_before
        on
            deviations.trace = week_before.trace
            and deviations.cluster is not distinct from week_before.cluster
            and deviations.hour = week_before.hour + 168
),

moments as (
    select
        trace,
        cluster,
        max(jobs) as max_hourly_jobs,
        fsum(power(deviation, 2)) as squares,
        fsum(deviation * deviation_day_before) as products_24h,
        fsum(deviation * deviation_week_before) as products_168h
    from paired
    group by trace, cluster
)

select
    counted.trace,
    counted.cluster,
    counted.jobs,
    counted.skipped_jobs,
    counted.hours,
    counted.mean_hourly_jobs,
    moments.max_hourly_jobs,
    counted.mean_hourly_jobs * moments.squares / nullif(counted.hours, 0) as dispersion,
    sqrt(moments.squares / nullif(counted.hours, 0)) as cv_hourly_jobs,
    -- A day that was not seen twice tells nothing of days, nor a week of weeks.
    case
        when counted.hours >= 48 then moments.products_24h / nullif(moments.squares, 0)
    end as autocorrelation_24h,
    case
        when counted.hours >= 336 then moments.products_168h / nullif(moments.squares, 0)
    end as autocorrelation_168h,
    100.0 * counted.burst_jobs / nullif(counted.jobs_with_user, 0) as user_burst_pct,
    100.0 * counted.jobs_with_user / counted.jobs as with_user_pct,
    coverage.with_submission_pct
from counted
inner join moments
    on counted.trace = moments.trace and counted.cluster is not distinct from moments.cluster
inner join coverage
    on counted.trace = coverage.trace and counted.cluster is not distinct from coverage.cluster
order by counted.trace, counted.cluster nulls first;

comment on macro table unified.arrival_burstiness is 'Jobs with a submission per cluster, only those that request a GPU if gpu_only, without those that came first, which skipped_jobs counts: skip_first_pct of them, rounded down to a whole number, in order of submission and then of job_id. hours are all hours of the trace''s own clock from that of the first job to that of the last, both as whole ones, and hours without a job too; mean_hourly_jobs and max_hourly_jobs are the mean and the most of the jobs in an hour. dispersion is their population variance over their mean: 1 where jobs come independently at a constant rate, more in bursts, or where the rate changes over the day; cv_hourly_jobs is their standard deviation over their mean. autocorrelation_24h and autocorrelation_168h say how far an hour resembles that of the day and of the week before: the products of both deviations from the mean, added up over all pairs of hours so far apart, over the squares of all deviations; 0 where nothing repeats, NULL where fewer than 48 or 336 hours are counted or all are the same. user_burst_pct are the jobs that came at most burst_s seconds after the previous one of the same user, among those counted in the cluster, in percent of the jobs whose user is known, which are with_user_pct of all; NULL where no user is known. with_submission_pct of the cluster''s jobs have a submission; the others are left out.';
