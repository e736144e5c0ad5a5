-- Run time distribution by trace (GPU jobs of all traces)
-- param: min_run_s: shortest run time to include; ITP has none under 600 s
-- range: min_run_s: 0 to 100000000
-- column: percentile: Percentage of run times that do not exceed run_s
-- chart: step x=run_s:log y=percentile color=trace with=every_value
create or replace macro unified.run_cdf(min_run_s double := 600, every_value boolean := false) as table
with percentiles as (
    select unnest([1, 5, 10, 25, 50, 75, 90, 95, 99]) as percentile
    where not every_value
),

gpu_jobs as (
    select
        trace,
        run_s,
        is_right_censored
    from unified.jobs
    where requested_gpus > 0
),

-- A job without a run time may be shorter or longer than min_run_s, so the percentiles leave it out.
counted as (
    select
        trace,
        100.0 * count(run_s) / count(*) as covered_pct,
        100.0 * count(*) filter (where run_s >= min_run_s and is_right_censored)
        / nullif(count(*) filter (where run_s >= min_run_s), 0) as censored_pct
    from gpu_jobs
    group by trace
),

ranked as (
    select
        trace,
        run_s,
        100.0 * cume_dist() over (partition by trace order by run_s) as rank_pct
    from gpu_jobs
    where run_s >= min_run_s
),

-- The first value in each fifth of a percent, and the last value: exact to a fifth of a percent.
points as (
    select
        ranked.trace,
        cast(percentiles.percentile as double) as percentile,
        min(ranked.run_s) as run_s
    from ranked
    inner join percentiles on ranked.rank_pct >= percentiles.percentile
    group by ranked.trace, percentiles.percentile
    union all
    select
        trace,
        min(rank_pct) as percentile,
        min(run_s) as run_s
    from ranked
    where every_value
    group by trace, floor(round(5 * rank_pct, 6))
)

select
    points.trace,
    points.percentile,
    points.run_s,
    counted.covered_pct,
    counted.censored_pct
from points
inner join counted on points.trace = counted.trace
order by points.trace, points.percentile;

comment on macro table unified.run_cdf is 'Percentiles of the run time of GPU jobs per trace, over jobs of at least min_run_s: the shortest run time that so many percent of the jobs do not exceed; or, with every_value, observed run times with the percentage of jobs that do not exceed each. covered_pct is the percentage of GPU jobs of the trace with a run time; censored_pct is the percentage of the counted jobs that still ran when the trace ended, whose run time is longer than recorded.';
