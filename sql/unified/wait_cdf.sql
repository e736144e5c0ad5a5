-- Queueing delay distribution by size (GPU jobs per trace)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: dlrm.services_not_jobs
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: openb.pending_has_no_schedule
-- resolves_caveat: openb.times_from_first_pod
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: philly.log_has_no_zone
-- chart: step x=wait_s:log y=percentile color=size_band facet=trace band=low_pct,high_pct interval=greenwood with=every_value yname=jobs_pct note=Kaplan-Meier: jobs that never started count as waiting longer than observed. Where a curve ends below 100 %, longer delays are unknown.
-- column: jobs: GPU jobs of the band that were observed to wait
-- column: pct: Percentile
-- column: unknown_pct: Share of the GPU jobs for which the quantity is unknown
-- column: never_started_pct: Share of the jobs that were withdrawn before they started, or in DLRM still waited when the trace ended
-- column: percentile [percent]: Kaplan-Meier estimate of the percentage of the jobs whose queueing delay does not exceed wait_s
-- column: wait_s: Queueing delay that this percentage of the jobs does not exceed: at 50, their Kaplan-Meier median
-- column: low_wait_s: Lower bound of the 95 % confidence interval of the queueing delay
-- column: high_wait_s: Upper bound of the 95 % confidence interval of the queueing delay
-- column: effective_units [units]: Equally large days, users or owners that would tell as much of the bounded share or percentile, whose bounds need ten
create or replace macro unified.wait_cdf(
    in_trace varchar := null,
    every_value boolean := false,
    -- units that a confidence interval treats as independent: days or users [day user]
    sampled_by varchar := 'day'
) as table
-- A job submitted before the trace has an unknown queueing delay: observed_wait_s is NULL.
with waits as (
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
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0
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
    where every_value and events > 0
),

sampled_waits as ( -- noqa: ST03
    select
        trace,
        size_band,
        sampled,
        observed_wait_s,
        has_started
    from waits
    where not every_value
),

-- Keeps the first value in each fifth of a percent, so that the curve is exact to a fifth of a percent.
points as (
    select
        series.trace,
        series.size_band,
        cast(percentile as double) as percentile,
        value as wait_s,
        low_value as low_wait_s,
        high_value as high_wait_s,
        effective_units,
        cast(null as double) as low_pct,
        cast(null as double) as high_pct
    from stats.survival_percentiles(
        'sampled_waits',
        { 'trace': trace, 'size_band': size_band },
        sampled,
        observed_wait_s,
        has_started,
        [10, 25, 50, 75, 90, 95, 99]
    )
    union all
    select
        trace,
        size_band,
        min(percentile) as percentile,
        min(wait_s) as wait_s,
        cast(null as double) as low_wait_s,
        cast(null as double) as high_wait_s,
        cast(null as double) as effective_units,
        min(low_pct) as low_pct,
        min(high_pct) as high_pct
    from curve
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
    points.effective_units,
    points.low_pct,
    points.high_pct
from points
inner join counted on points.trace = counted.trace and points.size_band = counted.size_band
order by counted.trace, counted.least_gpus, points.percentile;

comment on macro table unified.wait_cdf is
'Percentiles of the queueing delay of the GPU jobs per trace and band of sizes, estimated by '
'Kaplan-Meier: a job that was withdrawn (in Acme, Helios and openb) or still waited when the trace ended '
'(in DLRM) counts as waiting longer than it was observed. low_wait_s and high_wait_s: bounds of the 95 % '
'confidence interval, if the days on which jobs were submitted, or the users, are a sample of similar ones. '
'effective_units: the number of equally large days or users that would tell as much; with fewer than ten the bounds are NULL, '
'and NULL if the trace does not record them. A value is '
'NULL where too few jobs started to estimate it. With every_value: observed queueing delays, the '
'percentage of jobs that do not exceed each, and low_pct and high_pct, the bounds of its 95 % confidence '
'interval by Greenwood, which treats jobs as independent. jobs: number estimated from. never_started_pct: '
'share of these without a start. unknown_pct: share of the GPU jobs of the band whose queueing delay is '
'unknown, because they were submitted before the trace began or have no times. A trace that records no '
'queueing delays, such as ITP, has no rows.';
