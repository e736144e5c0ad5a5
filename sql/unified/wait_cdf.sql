-- Queueing delay distribution by size (GPU jobs per trace)
-- chart: step x=wait_s:log y=percentile color=size_band facet=trace band=low_pct,high_pct with=every_value
-- column: jobs: GPU jobs of the band that were observed to wait
-- column: percentile: Estimated percentage of the jobs of the band whose queueing delay does not exceed wait_s
create or replace macro unified.wait_cdf(
    in_trace varchar := null,
    every_value boolean := false,
    -- units that a confidence interval treats as independent: days or users [day user]
    sampled_by varchar := 'day'
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
        case sampled_by
            when 'user' then user_id
            else cast(cast(floor(submit_s / 86400) as bigint) as varchar)
        end as sampled,
        observed_wait_s,
        wait_s is not null as has_started
    from unified.jobs
    where (in_trace is null or trace = in_trace) and requested_gpus > 0
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
        series.trace,
        series.size_band,
        value as wait_s,
        percentile,
        low_pct,
        high_pct
    from stats.survival_curve(
        'waits', { 'trace': trace, 'size_band': size_band }, observed_wait_s, has_started
    )
    where events > 0
),

estimates as (
    select
        curve.trace,
        curve.size_band,
        percentiles.percentile,
        min(curve.wait_s) filter (where curve.percentile >= percentiles.percentile) as wait_s
    from curve
    cross join percentiles
    group by curve.trace, curve.size_band, percentiles.percentile
),

limits as (
    select
        trace,
        size_band,
        max(wait_s) filter (where percentile = 10) as p10_wait_s,
        max(wait_s) filter (where percentile = 25) as p25_wait_s,
        max(wait_s) filter (where percentile = 50) as p50_wait_s,
        max(wait_s) filter (where percentile = 75) as p75_wait_s,
        max(wait_s) filter (where percentile = 90) as p90_wait_s,
        max(wait_s) filter (where percentile = 95) as p95_wait_s,
        max(wait_s) filter (where percentile = 99) as p99_wait_s
    from estimates
    group by trace, size_band
),

-- The lowest percentile that is not below the queueing delay of a job; NULL if it is above all, or did not start.
reached as (
    select
        waits.trace,
        waits.size_band,
        waits.sampled,
        case
            when not waits.has_started then null
            when waits.observed_wait_s <= limits.p10_wait_s then 10
            when waits.observed_wait_s <= limits.p25_wait_s then 25
            when waits.observed_wait_s <= limits.p50_wait_s then 50
            when waits.observed_wait_s <= limits.p75_wait_s then 75
            when waits.observed_wait_s <= limits.p90_wait_s then 90
            when waits.observed_wait_s <= limits.p95_wait_s then 95
            when waits.observed_wait_s <= limits.p99_wait_s then 99
        end as percentile,
        count(*) as jobs
    from waits
    inner join limits on waits.trace = limits.trace and waits.size_band = limits.size_band
    where waits.observed_wait_s is not null
    group by all
),

samples as ( -- noqa: ST03
    select
        reached.trace,
        reached.size_band,
        estimates.percentile,
        reached.sampled,
        sum(reached.jobs) as jobs,
        sum(
            case
                when estimates.wait_s is null then 0
                when reached.percentile <= estimates.percentile then reached.jobs
                else 0
            end
        ) as started_jobs
    from reached
    inner join estimates on reached.trace = estimates.trace and reached.size_band = estimates.size_band
    group by reached.trace, reached.size_band, estimates.percentile, reached.sampled
),

intervals as (
    select
        series.trace,
        series.size_band,
        series.percentile,
        low_pct - share_pct as low_deviation_pct,
        high_pct - share_pct as high_deviation_pct
    from stats.bootstrap_share(
        'samples',
        { 'trace': trace, 'size_band': size_band, 'percentile': percentile },
        sampled,
        started_jobs,
        jobs
    )
),

-- Woodruff's interval: the values at which the curve reaches the bounds of the percentage.
bounds as (
    select
        curve.trace,
        curve.size_band,
        intervals.percentile,
        min(curve.wait_s) filter (
            where curve.percentile >= intervals.percentile + intervals.low_deviation_pct
        ) as low_wait_s,
        min(curve.wait_s) filter (
            where curve.percentile >= intervals.percentile + intervals.high_deviation_pct
        ) as high_wait_s
    from curve
    inner join intervals on curve.trace = intervals.trace and curve.size_band = intervals.size_band
    group by curve.trace, curve.size_band, intervals.percentile
),

-- Keeps the first value in each fifth of a percent, so that the curve is exact to a fifth of a percent.
points as (
    select
        estimates.trace,
        estimates.size_band,
        cast(estimates.percentile as double) as percentile,
        estimates.wait_s,
        bounds.low_wait_s,
        bounds.high_wait_s,
        cast(null as double) as low_pct,
        cast(null as double) as high_pct
    from estimates
    left join bounds
        on
            estimates.trace = bounds.trace
            and estimates.size_band = bounds.size_band
            and estimates.percentile = bounds.percentile
    union all
    select
        trace,
        size_band,
        min(percentile) as percentile,
        min(wait_s) as wait_s,
        cast(null as double) as low_wait_s,
        cast(null as double) as high_wait_s,
        min(low_pct) as low_pct,
        min(high_pct) as high_pct
    from curve
    where every_value
    group by trace, size_band, floor(round(5 * percentile, 6))
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
    points.high_wait_s,
    points.low_pct,
    points.high_pct
from points
inner join counted on points.trace = counted.trace and points.size_band = counted.size_band
order by counted.trace, counted.least_gpus, points.percentile;

comment on macro table unified.wait_cdf is
'Percentiles of the queueing delay of the GPU jobs per trace and band of sizes, estimated by '
'Kaplan-Meier: a job that was withdrawn, or still waited when the trace ended, counts as waiting longer '
'than it was observed. low_wait_s and high_wait_s are the bounds of the 95 % confidence interval, from a '
'bootstrap over the days on which jobs were submitted, or over users; NULL with fewer than ten. A value '
'is NULL where too few jobs started to estimate it. With every_value, observed queueing delays with the '
'percentage of jobs that do not exceed each, and low_pct and high_pct, the bounds of its 95 % confidence '
'interval by Greenwood, which treats jobs as independent. jobs are the jobs of the estimate, '
'never_started_pct the percentage of these without a start; unknown_pct is the percentage of the GPU jobs '
'of the band whose queueing delay is unknown, because they were submitted before the trace began or have '
'no times. A trace that records no queueing delays, such as ITP, has no rows.';
