-- Share of failed jobs and GPU-hours (all traces)
-- chart: bar x=trace y=failed_of_all_pct color=cluster
create or replace macro unified.failure_share(
    gpu_only boolean := true, preempted_fails boolean := false
) as table
with outcomes as (
    select
        trace,
        cluster,
        held_gpu_s,
        is_right_censored,
        is_left_censored,
        status,
        status <> 'unknown' as is_known,
        status = 'failed' or (preempted_fails and status = 'preempted') as has_failed
    from unified.jobs
    where not gpu_only or requested_gpus > 0
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
        censored_shares(held_gpu_s) as gpu_time_pct,
        fsum(held_gpu_s) filter (where is_known) as known_gpu_s,
        fsum(held_gpu_s) filter (where has_failed) as failed_gpu_s
    from outcomes
    group by trace, cluster
)

select
    trace,
    cluster,
    jobs,
    100.0 * known_jobs / jobs as known_pct,
    case when known_jobs > 0 then 100.0 * failed_jobs / jobs end as failed_of_all_pct,
    case when known_jobs > 0 then 100.0 * (failed_jobs + jobs - known_jobs) / jobs end as failed_at_most_pct,
    100.0 * failed_jobs / nullif(known_jobs, 0) as failed_of_known_pct,
    100.0 * cancelled_jobs / nullif(known_jobs, 0) as cancelled_of_known_pct,
    100.0 * coalesce(failed_gpu_s, 0) / nullif(known_gpu_s, 0) as failed_gpu_time_pct,
    100.0 * covered_failed_jobs / nullif(failed_jobs, 0) as covered_failed_pct,
    censored_gpu_time_pct,
    left_censored_gpu_time_pct
from counted
order by trace, cluster nulls first;

comment on macro table unified.failure_share is 'Jobs per cluster, percentage of jobs with a known outcome, failed jobs in percent of all jobs, the same if all jobs of unknown outcome had failed (the share of failed jobs lies between these two), failed jobs in percent of the jobs with a known outcome, which represents all jobs only if most outcomes are known, and cancelled jobs; percentage of the GPU-hours of jobs with a known outcome that failed jobs held, and percentage of failed jobs with known GPU-hours; and percentages of all GPU-hours in jobs that the end and the beginning of the trace cut off. NULL where no outcome is known.';
