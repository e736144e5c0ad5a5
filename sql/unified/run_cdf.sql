-- Run time distribution by trace (GPU jobs of all traces)
-- param: min_run_s: leave shorter jobs out; ITP has none under 600 s
-- range: min_run_s: 0 to 100000000
-- param: every_value: a row for each value that occurs, thinned to 500 at most, in place of nine percentiles
-- column: percentile: Percentile; of every value, the percentage of runs that do not exceed it
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
        is_censored
    from unified.jobs
    where requested_gpus > 0
),

-- A job without a run may be shorter than the least, or longer: only those with one are in the percentiles.
counted as (
    select
        trace,
        100.0 * count(run_s) / count(*) as covered_pct,
        100.0 * count(*) filter (where run_s >= min_run_s and is_censored)
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

-- The first of the values in each fifth of a percent, and the last of all: the curve is no further off than that.
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

comment on macro table unified.run_cdf is 'Percentiles of the run of GPU jobs per trace, in seconds, over jobs of the same least length: the shortest run that so many percent do not exceed; or, if every_value, runs that occur, with the percentage of runs that do not exceed each. covered_pct of the trace''s GPU jobs have a run; censored_pct of those counted still ran when the trace ended, and ran longer than is known.';
