-- Queueing delay distribution by size (GPU jobs of one trace)
-- chart: step x=wait_s:log y=percentile color=size_band with=every_value
-- column: jobs: GPU jobs of the band that were observed to wait
-- column: percentile: Estimated percentage of the jobs of the band whose queueing delay does not exceed wait_s
create or replace macro unified.wait_cdf(
    in_trace varchar := 'openb', every_value boolean := false
) as table
with percentiles as (
    select unnest([10, 25, 50, 75, 90, 95, 99]) as percentile
    where not every_value
),

-- A job submitted before the trace has an unknown queueing delay: observed_wait_s is NULL.
waits as (
    select
        trace,
        size_band,
        requested_gpus,
        observed_wait_s,
        wait_s is not null as has_started
    from unified.jobs
    where trace = in_trace and requested_gpus > 0
),

counted as (
    select
        trace,
        size_band,
        min(requested_gpus) as least_gpus,
        count(observed_wait_s) as jobs,
        100.0 * (count(*) - count(observed_wait_s)) / count(*) as unknown_pct,
        100.0 * count(observed_wait_s) filter (where not has_started)
        / nullif(count(observed_wait_s), 0) as never_started_pct
    from waits
    group by trace, size_band
),

curve as (
    select
        size_band,
        observed_wait_s as wait_s,
        percentile,
        low_pct,
        high_pct
    from survival_curve(waits, size_band, observed_wait_s, has_started)
    where events > 0
),

-- The first value in each fifth of a percent: exact to a fifth of a percent.
points as (
    select
        curve.size_band,
        cast(percentiles.percentile as double) as percentile,
        min(curve.wait_s) filter (where curve.percentile >= percentiles.percentile) as wait_s,
        min(curve.wait_s) filter (where curve.high_pct >= percentiles.percentile) as low_wait_s,
        min(curve.wait_s) filter (where curve.low_pct >= percentiles.percentile) as high_wait_s
    from curve
    cross join percentiles
    group by curve.size_band, percentiles.percentile
    union all
    select
        size_band,
        min(percentile) as percentile,
        min(wait_s) as wait_s,
        cast(null as double) as low_wait_s,
        cast(null as double) as high_wait_s
    from curve
    where every_value
    group by size_band, floor(round(5 * percentile, 6))
)

select
    counted.trace,
    counted.size_band,
    counted.jobs,
    counted.unknown_pct,
    counted.never_started_pct,
    points.percentile,
    points.wait_s,
    points.low_wait_s,
    points.high_wait_s
from points
inner join counted on points.size_band = counted.size_band
order by counted.least_gpus, points.percentile;

comment on macro table unified.wait_cdf is 'Percentiles of the queueing delay of the GPU jobs of one trace per band of sizes, estimated by Kaplan-Meier: a job that was withdrawn, or still waited when the trace ended, counts as waiting longer than it was observed. low_wait_s and high_wait_s are the bounds of the 95 % confidence interval, which treats jobs as independent. A value is NULL where too few jobs started to estimate it. With every_value, observed queueing delays with the percentage of jobs that do not exceed each. jobs are the jobs of the estimate, never_started_pct the percentage of these without a start; unknown_pct is the percentage of the GPU jobs of the band whose queueing delay is unknown, because they were submitted before the trace began or have no times. A trace that records no queueing delays, such as ITP, has no rows.';
