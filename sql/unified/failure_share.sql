-- Share of failed jobs and GPU-hours (GPU jobs of all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: dlrm.services_not_jobs
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: itp.min_duration_600
-- resolves_caveat: itp.num_gpu_requested_or_used
-- resolves_caveat: openb.deletion_never_empty
-- resolves_caveat: openb.times_from_first_pod
-- resolves_caveat: pai.empty_start_is_waiting
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: philly.log_has_no_zone
-- resolves_caveat: spot.durations_are_cut_off
-- resolves_caveat: spot.no_start
-- resolves_caveat: spot.request_is_per_worker
-- column: known_pct: Share of the jobs whose outcome is known
-- column: failed_of_all_pct: Share of all jobs that are known to have failed
-- column: low_failed_of_all_pct: Lower bound of the 95 % confidence interval of failed_of_all_pct
-- column: high_failed_of_all_pct: Upper bound of the 95 % confidence interval of failed_of_all_pct
-- column: effective_units [units]: Equally large days, users or owners that would tell as much of the bounded share or percentile, whose bounds need ten
-- column: failed_at_most_pct: Share of all jobs that failed, if all jobs of unknown outcome did
-- column: failed_of_known_pct: Share of the jobs of known outcome that failed, if at least 90 % are known
-- column: cancelled_of_known_pct: Share of the jobs of known outcome that were cancelled, if at least 90 % are known
-- column: known_gpu_time_pct: Share of the GPU-hours held by jobs whose outcome is known
-- column: failed_of_all_gpu_time_pct: Share of all GPU-hours that jobs held which are known to have failed
-- column: failed_gpu_time_pct: Share of the GPU-hours of known outcome that failed jobs held, if at least 90 % are known
-- column: low_failed_gpu_time_pct: Lower bound of the 95 % confidence interval of failed_gpu_time_pct
-- column: high_failed_gpu_time_pct: Upper bound of the 95 % confidence interval of failed_gpu_time_pct
-- column: effective_gpu_time_units [units]: Equally large days or users that would tell as much of failed_gpu_time_pct; its bounds need ten
-- column: covered_failed_pct: Share of the failed jobs with known GPU-hours
-- column: censored_gpu_time_pct: Share of the GPU-hours in jobs that the end of the trace cuts off
-- column: left_censored_gpu_time_pct: Share of the GPU-hours in jobs that the beginning of the trace cuts off
-- chart: bar x=trace+cluster y=failed_of_all_pct color=trace band=low_failed_of_all_pct,high_failed_of_all_pct interval=jackknife:{sampled_by} xname=cluster yname=failed_jobs_pct title=Share of failed jobs by cluster (GPU jobs of all traces)
create or replace macro unified.failure_share(
    gpu_only boolean := true,
    preempted_fails boolean := false,
    -- units that a confidence interval treats as independent: days or users [day user]
    sampled_by varchar := 'day',
    in_trace varchar := null
) as table
with outcomes as (
    select
        trace,
        cluster,
        case sampled_by
            when 'user' then user_id
            else cast(cast(floor(submit_s / 86400) as bigint) as varchar)
        end as sampled,
        held_gpu_s,
        is_right_censored,
        is_left_censored,
        status,
        status <> 'unknown' as is_known,
        status = 'failed' or (preempted_fails and status = 'preempted') as has_failed
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and (not gpu_only or requested_gpus > 0)
),

counted as (
    select
        trace,
        cluster,
        count(*) as jobs,
        count(*) filter (where is_known) as known_jobs,
        count(*) filter (where has_failed) as failed_jobs,
        count(held_gpu_s) filter (where has_failed) as covered_failed_jobs,
        count(*) filter (where status = 'cancelled') as cancelled_jobs,
        stats.censored_pct(is_right_censored, held_gpu_s) as censored_gpu_time_pct,
        stats.censored_pct(is_left_censored, held_gpu_s) as left_censored_gpu_time_pct,
        stats.fsum(held_gpu_s) as gpu_s,
        stats.fsum(case when is_known then held_gpu_s end) as known_gpu_s,
        stats.fsum(case when has_failed then held_gpu_s end) as failed_gpu_s
    from outcomes
    group by trace, cluster
),

by_sample as (
    select
        trace,
        coalesce(cluster, '') as cluster,
        sampled,
        count(*) as jobs,
        count(*) filter (where has_failed) as failed_jobs,
        coalesce(stats.fsum(case when is_known then held_gpu_s end), 0) as known_gpu_s,
        coalesce(stats.fsum(case when has_failed then held_gpu_s end), 0) as failed_gpu_s
    from outcomes
    group by all
),

samples as ( -- noqa: ST03
    select
        trace,
        cluster,
        'jobs' as share_of,
        sampled,
        failed_jobs as failed,
        jobs as total
    from by_sample
    union all
    select
        trace,
        cluster,
        'GPU time' as share_of,
        sampled,
        failed_gpu_s as failed,
        known_gpu_s as total
    from by_sample
),

intervals as (
    select
        series.trace,
        series.cluster,
        series.share_of,
        low_pct,
        high_pct,
        effective_units
    from stats.share_interval(
        'samples',
        { 'trace': trace, 'cluster': cluster, 'share_of': share_of },
        sampled,
        failed,
        total
    )
)

select
    counted.trace,
    counted.cluster,
    counted.jobs,
    100.0 * counted.known_jobs / counted.jobs as known_pct,
    case when counted.known_jobs > 0 then 100.0 * counted.failed_jobs / counted.jobs end as failed_of_all_pct,
    of_jobs.low_pct as low_failed_of_all_pct,
    of_jobs.high_pct as high_failed_of_all_pct,
    of_jobs.effective_units,
    case
        when counted.known_jobs > 0
            then 100.0 * (counted.failed_jobs + counted.jobs - counted.known_jobs) / counted.jobs
    end as failed_at_most_pct,
    stats.pct_of_known(counted.failed_jobs, counted.known_jobs, counted.jobs) as failed_of_known_pct,
    stats.pct_of_known(counted.cancelled_jobs, counted.known_jobs, counted.jobs) as cancelled_of_known_pct,
    100.0 * counted.known_gpu_s / nullif(counted.gpu_s, 0) as known_gpu_time_pct,
    -- NULL, not 0, if no GPU time of failed jobs is known.
    100.0 * case when counted.failed_jobs = 0 and counted.known_jobs > 0 then 0 else counted.failed_gpu_s end
    / nullif(counted.gpu_s, 0) as failed_of_all_gpu_time_pct,
    stats.pct_of_known(
        case when counted.failed_jobs = 0 then 0 else counted.failed_gpu_s end,
        counted.known_gpu_s,
        counted.gpu_s
    ) as failed_gpu_time_pct,
    of_gpu_time.low_pct as low_failed_gpu_time_pct,
    of_gpu_time.high_pct as high_failed_gpu_time_pct,
    of_gpu_time.effective_units as effective_gpu_time_units,
    100.0 * counted.covered_failed_jobs / nullif(counted.failed_jobs, 0) as covered_failed_pct,
    counted.censored_gpu_time_pct,
    counted.left_censored_gpu_time_pct
-- An unknown share has no interval.
from counted
left join intervals as of_jobs
    on
        of_jobs.share_of = 'jobs'
        and counted.trace = of_jobs.trace
        and coalesce(counted.cluster, '') = of_jobs.cluster
        and counted.known_jobs > 0
left join intervals as of_gpu_time
    on
        of_gpu_time.share_of = 'GPU time'
        and counted.trace = of_gpu_time.trace
        and coalesce(counted.cluster, '') = of_gpu_time.cluster
        and counted.known_gpu_s >= 0.9 * counted.gpu_s
        and (counted.failed_jobs = 0 or counted.covered_failed_jobs > 0)
order by counted.trace, counted.cluster nulls first;

comment on macro table unified.failure_share is
'Jobs per cluster, percentage of jobs with a known outcome, failed jobs in percent of all jobs, the same '
'if all jobs of unknown outcome had failed (the share of failed jobs lies between these two), and failed and '
'cancelled jobs in percent of the jobs with a known outcome; percentage of the GPU-hours held by jobs with a known '
'outcome, by jobs that are known to have failed, and the latter in percent of the former; percentage of '
'failed jobs with known GPU-hours, without which their share is NULL; and percentages of '
'all GPU-hours in jobs that the end '
'and the beginning of the trace cut off. Percentages of what is known are NULL with less than 90 % known. low_… and high_… are the bounds '
'of the 95 % confidence interval, if the days on which jobs were submitted, or the users, are a sample of '
'similar ones. effective_units: the number of equally large days or users that would tell as much; with fewer than ten '
'the bounds are NULL, and NULL where the trace does not record them. Timeouts and failed nodes count as failed; '
'preempted jobs only with preempted_fails.';
