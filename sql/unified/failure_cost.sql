-- What do failed, cancelled and preempted jobs of each size cost in GPU time?
-- param: gpu_only: count only jobs that request a GPU
-- param: preempted_fails: count a preempted job as failed
-- chart: point x=jobs:log y=gpu_time_pct color=outcome
create or replace macro unified.failure_cost(
    gpu_only boolean := true, preempted_fails boolean := false
) as table
with outcomes as (
    select
        trace,
        size_band,
        requested_gpus,
        held_gpu_s,
        is_censored,
        case when preempted_fails and status = 'preempted' then 'failed' else status end as outcome
    from unified.jobs
    where not gpu_only or requested_gpus > 0
),

counted as (
    select
        trace,
        outcome,
        size_band,
        min(requested_gpus) as least_gpus,
        count(*) as jobs,
        count(held_gpu_s) as covered_jobs,
        count(*) filter (where is_censored) as censored_jobs,
        fsum(held_gpu_s) as held_gpu_s
    from outcomes
    group by trace, outcome, size_band
),

totals as (
    select
        trace,
        count(*) as jobs,
        fsum(held_gpu_s) as held_gpu_s
    from outcomes
    group by trace
)

select
    counted.trace,
    counted.outcome,
    counted.size_band,
    counted.jobs,
    100.0 * counted.jobs / totals.jobs as jobs_pct,
    counted.held_gpu_s / 3600.0 as held_gpu_h,
    100.0 * counted.held_gpu_s / nullif(totals.held_gpu_s, 0) as gpu_time_pct,
    100.0 * (counted.jobs - counted.covered_jobs) / counted.jobs as uncovered_pct,
    100.0 * counted.censored_jobs / counted.jobs as censored_pct
from counted
inner join totals on counted.trace = totals.trace
order by counted.trace, counted.outcome, counted.least_gpus nulls last;

comment on macro table unified.failure_cost is 'Jobs, only those that request a GPU if gpu_only, per trace, outcome and band of sizes, by all GPUs that a job requests together: their number, and their share of all jobs of the trace that are counted; the GPU-hours they held, and their share of the GPU time that all counted jobs of the trace held. outcome is the status of unified.jobs: completed, failed, cancelled, preempted or unknown, where a preempted job counts as failed if preempted_fails. uncovered_pct of the jobs of the row have no GPU time that is known, and add nothing to it; where none has one, held_gpu_h and gpu_time_pct are NULL. censored_pct of the jobs still ran when the trace ended, so that their GPU time is cut off or missing.';
