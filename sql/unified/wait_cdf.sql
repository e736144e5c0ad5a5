-- Queueing delay distribution by size (GPU jobs of one trace)
-- chart: step x=wait_s:log y=percentile color=size_band with=every_value
-- column: jobs: GPU jobs of the band
-- column: percentile: Percentage of the jobs of the band whose queueing delay does not exceed wait_s
create or replace macro unified.wait_cdf(
    in_trace varchar := 'openb', every_value boolean := false
) as table
with percentiles as (
    select unnest([10, 25, 50, 75, 90, 95, 99]) as percentile
    where not every_value
),

sized as (
    select
        trace,
        wait_s,
        requested_gpus,
        size_band
    from unified.jobs
    where trace = in_trace and requested_gpus > 0 and not coalesce(is_left_censored, false)
),

counted as (
    select
        trace,
        size_band,
        min(requested_gpus) as least_gpus,
        count(*) as jobs,
        100.0 * (count(*) - count(wait_s)) / count(*) as without_wait_pct
    from sized
    group by trace, size_band
    -- Leaves out bands without any queueing delay.
    having count(wait_s) > 0
),

-- A job that never started counts as waiting longer than all started jobs.
ranked as (
    select
        size_band,
        wait_s,
        max(wait_s) over (partition by size_band) as longest_s,
        100.0 * cume_dist() over (partition by size_band order by wait_s nulls last) as rank_pct
    from sized
),

-- The first value in each fifth of a percent, and the last value: exact to a fifth of a percent.
points as (
    select
        ranked.size_band,
        cast(percentiles.percentile as double) as percentile,
        min(ranked.wait_s) as wait_s
    from ranked
    inner join percentiles on ranked.rank_pct >= percentiles.percentile
    group by ranked.size_band, percentiles.percentile
    union all
    select
        size_band,
        min(rank_pct) as percentile,
        min(wait_s) as wait_s
    from ranked
    where every_value and wait_s is not null
    group by size_band, floor(round(5 * rank_pct, 6)), wait_s = longest_s
)

select
    counted.trace,
    counted.size_band,
    counted.jobs,
    counted.without_wait_pct,
    points.percentile,
    points.wait_s
from points
inner join counted on points.size_band = counted.size_band
order by counted.least_gpus, points.percentile;

comment on macro table unified.wait_cdf is 'Percentiles of the queueing delay of the GPU jobs of one trace per band of sizes, over all jobs of the band: the shortest queueing delay that so many percent of the jobs do not exceed; or, with every_value, observed queueing delays with the percentage of jobs that do not exceed each. without_wait_pct is the percentage of jobs without a queueing delay, most of which never started. They count as waiting longer than all others, so a percentile that falls among them is NULL. Jobs submitted before the trace began are left out, as their queueing delay is unknown. A trace that records no queueing delays, such as ITP, has no rows.';
