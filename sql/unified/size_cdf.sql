-- Job size distribution and GPU-hours by size (all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: openb.deletion_never_empty
-- column: at_most_gpus: Upper bound of the GPUs that a counted job requests
-- column: gpu_time_pct: Share of the GPU-hours
-- column: covered_pct: Share of the jobs for which the quantity is known
-- column: censored_gpu_time_pct: Share of the GPU-hours in jobs that the end of the trace cuts off
-- column: left_censored_gpu_time_pct: Share of the GPU-hours in jobs that the beginning of the trace cuts off
-- chart: step x=at_most_gpus:log y=jobs_pct color=trace with=every_value xname=requested_gpus note=Jobs with GPUs only. title=Job size distribution (GPU jobs of all traces)
create or replace macro unified.size_cdf(
    every_value boolean := false, in_trace varchar := null
) as table
with powers as (
    select unnest([0.25, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]) as at_most_gpus
    where not every_value
),

jobs as (
    select
        trace,
        requested_gpus,
        held_gpu_s,
        is_right_censored,
        is_left_censored
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0
),

-- Groups jobs by size, so that the join with the points stays small.
loads as (
    select
        trace,
        requested_gpus,
        count(*) as jobs,
        stats.fsum(held_gpu_s) as held_gpu_s
    from jobs
    group by trace, requested_gpus
),

coverage as (
    select
        trace,
        100.0 * count(held_gpu_s) / count(*) as covered_pct,
        stats.censored_pct(is_right_censored, held_gpu_s) as censored_gpu_time_pct,
        stats.censored_pct(is_left_censored, held_gpu_s) as left_censored_gpu_time_pct
    from jobs
    group by trace
),

sizes as (
    select
        traces.trace,
        cast(powers.at_most_gpus as double) as at_most_gpus
    from (select distinct trace from loads) as traces
    cross join powers
    union all
    select
        series as trace,
        value as at_most_gpus
    from stats.cdf_points('loads', trace, requested_gpus, jobs)
    where every_value
)

select
    loads.trace,
    sizes.at_most_gpus,
    100.0 * coalesce(sum(loads.jobs) filter (where loads.requested_gpus <= sizes.at_most_gpus), 0)
    / sum(loads.jobs) as jobs_pct,
    100.0 * coalesce(stats.fsum(
        case when loads.requested_gpus <= sizes.at_most_gpus then loads.held_gpu_s end
    ), 0)
    / nullif(stats.fsum(loads.held_gpu_s), 0) as gpu_time_pct,
    max(coverage.covered_pct) as covered_pct,
    max(coverage.censored_gpu_time_pct) as censored_gpu_time_pct,
    max(coverage.left_censored_gpu_time_pct) as left_censored_gpu_time_pct
from loads
inner join sizes on loads.trace = sizes.trace
inner join coverage on loads.trace = coverage.trace
group by loads.trace, sizes.at_most_gpus
order by loads.trace, sizes.at_most_gpus;

comment on macro table unified.size_cdf is
'Percentage of the GPU jobs that request at most the given number of GPUs, and of the GPU-hours that they '
'held, per trace. A PAI job is a task with all its instances. covered_pct is the percentage of GPU jobs '
'of the trace with known GPU-hours; censored_gpu_time_pct and left_censored_gpu_time_pct are the '
'percentages of these GPU-hours in jobs that the end and the beginning of the trace cut off.';
