-- How long do the jobs of each trace run?
-- param: min_run_s: leave shorter jobs out; ITP has none under 600 s
-- range: min_run_s: 0 to 100000000
-- chart: line x=run_s:log y=percentile color=trace
create or replace macro unified.run_cdf(min_run_s double := 600) as table
with percentiles as (
    select unnest([1, 5, 10, 25, 50, 75, 90, 95, 99]) as percentile
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
)

select
    ranked.trace,
    percentiles.percentile,
    min(ranked.run_s) as run_s,
    max(counted.covered_pct) as covered_pct,
    max(counted.censored_pct) as censored_pct
from ranked
inner join percentiles on ranked.rank_pct >= percentiles.percentile
inner join counted on ranked.trace = counted.trace
group by ranked.trace, percentiles.percentile
order by ranked.trace, percentiles.percentile;

comment on macro table unified.run_cdf is 'Percentiles of the run of GPU jobs per trace, in seconds, over jobs of the same least length: the shortest run that so many percent do not exceed. covered_pct of the trace''s GPU jobs have a run; censored_pct of those counted still ran when the trace ended, and ran longer than is known.';
