-- How long do the jobs of each trace run?
-- param: min_run_s: leave shorter jobs out; ITP has none under 600 s
-- range: min_run_s: 0 to 100000000
-- chart: line x=run_s:log y=percentile color=trace
create or replace macro unified.run_cdf(min_run_s double := 600) as table
with percentiles as (
    select unnest([1, 5, 10, 25, 50, 75, 90, 95, 99]) as percentile
),

ranked as (
    select
        trace,
        run_s,
        100.0 * cume_dist() over (partition by trace order by run_s) as rank_pct
    from unified.jobs
    where run_s >= min_run_s and requested_gpus > 0
)

select
    ranked.trace,
    percentiles.percentile,
    min(ranked.run_s) as run_s
from ranked
inner join percentiles on ranked.rank_pct >= percentiles.percentile
group by ranked.trace, percentiles.percentile
order by ranked.trace, percentiles.percentile;

comment on macro table unified.run_cdf is 'Percentiles of the run of GPU jobs per trace, in seconds, over jobs of the same least length: the shortest run that so many percent do not exceed.';
