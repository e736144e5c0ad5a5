-- GPU-hours by outcome and size (GPU jobs of all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: acme.types_differ_by_cluster
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- column: workload: Workload tag, NULL without by_workload and for jobs without one
-- column: outcome: Outcome: completed, failed, cancelled, preempted or unknown
-- column: held_gpu_h: GPU-hours held, over all instances of a job, re-runs included
-- column: gpu_time_pct: Share of the GPU-hours
-- column: uncovered_pct: Share of the jobs without known GPU-hours
-- column: censored_pct: Share of the jobs that the end of the trace cuts off
-- column: left_censored_pct: Share of the jobs that the beginning of the trace cuts off
create or replace macro unified.failure_cost(
    in_trace varchar := null,
    gpu_only boolean := true,
    preempted_fails boolean := false,
    -- group by workload tag as well
    by_workload boolean := false
) as table
with outcomes as (
    select
        trace,
        size_band,
        requested_gpus,
        held_gpu_s,
        is_right_censored,
        is_left_censored,
        case when by_workload then workload end as workload,
        case when preempted_fails and status = 'preempted' then 'failed' else status end as outcome
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and (not gpu_only or requested_gpus > 0)
),

counted as (
    select
        trace,
        workload,
        outcome,
        size_band,
        min(requested_gpus) as least_gpus,
        count(*) as jobs,
        count(held_gpu_s) as covered_jobs,
        stats.censored_pct(is_right_censored, 1) as censored_pct,
        stats.censored_pct(is_left_censored, 1) as left_censored_pct,
        stats.fsum(held_gpu_s) as held_gpu_s
    from outcomes
    group by trace, workload, outcome, size_band
),

totals as (
    select
        trace,
        count(*) as jobs,
        stats.fsum(held_gpu_s) as held_gpu_s
    from outcomes
    group by trace
)

select
    counted.trace,
    counted.workload,
    counted.outcome,
    counted.size_band,
    counted.jobs,
    100.0 * counted.jobs / totals.jobs as jobs_pct,
    counted.held_gpu_s / 3600.0 as held_gpu_h,
    100.0 * counted.held_gpu_s / nullif(totals.held_gpu_s, 0) as gpu_time_pct,
    100.0 * (counted.jobs - counted.covered_jobs) / counted.jobs as uncovered_pct,
    counted.censored_pct,
    counted.left_censored_pct
from counted
inner join totals on counted.trace = totals.trace
order by counted.trace, counted.workload nulls last, counted.outcome, counted.least_gpus nulls last;

comment on macro table unified.failure_cost is
'Jobs per trace, workload (with by_workload; otherwise, and for jobs without one, NULL), outcome and band '
'of all GPUs that a job requests: jobs and their share of all counted jobs of the trace, and the '
'GPU-hours they held and their share of the GPU-hours of all counted jobs of the trace. outcome is the '
'status of unified.jobs: completed, failed, cancelled, preempted or unknown; preempted jobs count as '
'failed with preempted_fails. uncovered_pct is the percentage of jobs of the row without known GPU-hours, '
'which add nothing; where no job has known GPU-hours, held_gpu_h and gpu_time_pct are NULL. censored_pct '
'and left_censored_pct are the percentages of jobs that the end and the beginning of the trace cut off, '
'of whose GPU-hours the part inside the trace counts. gpu_time_pct of completed jobs is the goodput, if '
'only they count as useful.';
