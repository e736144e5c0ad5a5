-- Jobs, GPU-hours and median times (GPU jobs of all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: openb.deletion_never_empty
-- chart: point x=trace+cluster y=held_gpu_h color=trace xname=cluster title=GPU-hours by cluster (GPU jobs of all traces)
-- column: held_gpu_h: GPU-hours held, over all instances of a job, re-runs included
-- column: covered_pct: Share of the jobs for which the quantity is known
-- column: censored_gpu_time_pct: Share of the GPU-hours in jobs that the end of the trace cuts off
-- column: left_censored_gpu_time_pct: Share of the GPU-hours in jobs that the beginning of the trace cuts off
-- column: mean_gpus: Mean number of GPUs of a job
-- column: median_run_s: Median of finished jobs, whose whole run was seen, whole_run_pct percent of all: too low below 100; unified.run_cdf has the Kaplan-Meier median of started jobs
-- column: whole_run_pct: Share of the jobs with a known and complete run time
-- column: median_wait_s: Median of started jobs; unified.wait_cdf has the Kaplan-Meier median of all jobs
-- column: without_wait_pct: Share of the jobs without a queueing delay
-- column: known_pct: Share of the jobs whose outcome is known
-- column: failed_of_all_pct: Share of all jobs that are known to have failed
-- column: failed_of_known_pct: Share of the jobs of known outcome that failed, if at least 90 % are known
create or replace macro unified.traces(
    gpu_only boolean := true, preempted_fails boolean := false, in_trace varchar := null
) as table
with counted as (
    select
        trace,
        cluster,
        count(*) as jobs,
        count(held_gpu_s) as covered_jobs,
        stats.fsum(held_gpu_s) as held_gpu_s,
        stats.censored_pct(is_right_censored, held_gpu_s) as censored_gpu_time_pct,
        stats.censored_pct(is_left_censored, held_gpu_s) as left_censored_gpu_time_pct,
        stats.favg(requested_gpus) as mean_gpus,
        median(run_s) as median_run_s,
        count(run_s) as whole_runs,
        median(wait_s) as median_wait_s,
        count(wait_s) as waits,
        count(*) filter (where status <> 'unknown') as known_jobs,
        count(*) filter (where status = 'failed' or (preempted_fails and status = 'preempted')) as failed_jobs
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and (not gpu_only or requested_gpus > 0)
    group by trace, cluster
)

select
    trace,
    cluster,
    jobs,
    held_gpu_s / 3600.0 as held_gpu_h,
    100.0 * covered_jobs / jobs as covered_pct,
    censored_gpu_time_pct,
    left_censored_gpu_time_pct,
    mean_gpus,
    median_run_s,
    100.0 * whole_runs / jobs as whole_run_pct,
    median_wait_s,
    100.0 * (jobs - waits) / jobs as without_wait_pct,
    100.0 * known_jobs / jobs as known_pct,
    -- NULL, not 0, if no outcome is known.
    case when known_jobs > 0 then 100.0 * failed_jobs / jobs end as failed_of_all_pct,
    stats.pct_of_known(failed_jobs, known_jobs, jobs) as failed_of_known_pct
from counted
order by trace, cluster;

comment on macro table unified.traces is
'Jobs, GPU-hours held, size, run time and queueing delay per trace and cluster. covered_pct is the '
'percentage of jobs with known GPU-hours; censored_gpu_time_pct and left_censored_gpu_time_pct are the '
'percentages of these GPU-hours in jobs that the end and the beginning of the trace cut off, of which the '
'part inside the trace counts; the medians cover the jobs whose run was seen whole, whole_run_pct percent '
'of all, and those with a queueing delay, all but without_wait_pct percent; known_pct is the percentage '
'of jobs with a known outcome; failed jobs are given in percent of all jobs and, if at least 90 % have '
'a known outcome, of these. NULL where a trace does not record the quantity.';
