-- Run time, queueing delay, failures by job size (all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- chart: point x=size_band y=median_run_s:log color=trace xname=requested_gpus note=Median of the jobs whose whole run was seen; jobs that were cut off are left out. title=Median run time of finished jobs by size (all traces)
-- column: held_gpu_h: GPU-hours held, over all instances of a job, re-runs included
-- column: median_run_s: Median of finished jobs, whose whole run was seen, covered_pct percent of all: too low below 100; unified.run_cdf has the Kaplan-Meier median of started jobs
-- column: median_wait_s: Median of started jobs; unified.wait_cdf has the Kaplan-Meier median of all jobs
-- column: covered_pct: Share of the jobs for which the quantity is known
-- column: censored_pct: Share of the jobs that the end of the trace cuts off
-- column: left_censored_pct: Share of the jobs that the beginning of the trace cuts off
-- column: known_pct: Share of the jobs whose outcome is known
-- column: failed_of_all_pct: Share of all jobs that are known to have failed
-- column: failed_of_known_pct: Share of the jobs of known outcome that failed, if at least 90 % are known
create or replace macro unified.run_by_size(
    preempted_fails boolean := false, in_trace varchar := null
) as table
with counted as (
    select
        trace,
        size_band,
        min(requested_gpus) as least_gpus,
        count(*) as jobs,
        count(run_s) as jobs_with_run,
        stats.censored_pct(is_right_censored, 1) as censored_pct,
        stats.censored_pct(is_left_censored, 1) as left_censored_pct,
        median(run_s) as median_run_s,
        median(wait_s) as median_wait_s,
        stats.fsum(held_gpu_s) as held_gpu_s,
        count(*) filter (where status <> 'unknown') as known_jobs,
        count(*) filter (where status = 'failed' or (preempted_fails and status = 'preempted')) as failed_jobs
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0
    group by trace, size_band
)

select
    trace,
    size_band,
    jobs,
    100.0 * jobs / sum(jobs) over (partition by trace) as jobs_pct,
    held_gpu_s / 3600.0 as held_gpu_h,
    median_run_s,
    median_wait_s,
    100.0 * jobs_with_run / jobs as covered_pct,
    censored_pct,
    left_censored_pct,
    100.0 * known_jobs / jobs as known_pct,
    -- NULL, not 0, if no outcome is known.
    case when known_jobs > 0 then 100.0 * failed_jobs / jobs end as failed_of_all_pct,
    stats.pct_of_known(failed_jobs, known_jobs, jobs) as failed_of_known_pct
from counted
order by trace, least_gpus;

comment on macro table unified.run_by_size is
'GPU jobs per trace and band of all GPUs that a job requests: number and share of jobs, GPU-hours held, '
'medians of run time and queueing delay, percentage of jobs with a run time, of jobs that the end and '
'that the beginning of the trace cut off, of jobs with a known outcome, of jobs that are known to have failed, and the '
'same of the jobs with a known outcome, if these are at least 90 %. NULL where a trace does not record the quantity.';
