-- Run time distribution by trace (GPU jobs of all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: dlrm.times_are_cut_off
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: itp.num_gpu_requested_or_used
-- resolves_caveat: openb.deletion_never_empty
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: philly.gpus_are_those_used
-- resolves_caveat: spot.no_start
-- resolves_caveat: spot.request_is_per_worker
-- column: percentile [percent]: Kaplan-Meier estimate of the percentage of run times that do not exceed run_s
-- column: run_s: Run time that this percentage of the started jobs does not exceed: at 50, their Kaplan-Meier median
-- column: low_run_s: Lower bound of the 95 % confidence interval of the run time
-- column: high_run_s: Upper bound of the 95 % confidence interval of the run time
-- column: pct: Percentile
-- column: jobs: Started GPU jobs that were observed for at least min_run_s
-- column: unknown_pct: Share of the GPU jobs for which the quantity is unknown
-- column: excluded_pct: Share of the observed jobs that a parameter excludes
-- column: censored_pct: Share of the jobs that the end of the trace cuts off
-- chart: step x=run_s:log y=percentile color=trace band=low_pct,high_pct interval=greenwood with=every_value yname=jobs_pct note=Kaplan-Meier: jobs that still ran when the trace ended count as running longer. Where a curve ends below 100 %, longer run times are unknown.
create or replace macro unified.run_cdf(
    -- shortest run time to include, such as 600 to compare with ITP, which has no shorter one [0 to
    -- 100000000]
    min_run_s double := 0,
    every_value boolean := false,
    in_trace varchar := null
) as table
with percentiles as (
    select unnest([1, 5, 10, 25, 50, 75, 90, 95, 99]) as percentile
    where not every_value
),

-- The start of a job that was submitted or started before the trace is unknown.
gpu_jobs as (
    select
        trace,
        is_right_censored,
        run_s is not null as is_complete,
        case when not coalesce(is_left_censored, false) then observed_run_s end as observed_run_s
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0
),

runs as (
    select
        trace,
        is_right_censored,
        is_complete,
        observed_run_s,
        case when observed_run_s >= min_run_s then observed_run_s end as run_s
    from gpu_jobs
),

counted as (
    select
        trace,
        count(run_s) as jobs,
        100.0 * (count(*) - count(observed_run_s)) / count(*) as unknown_pct,
        100.0 * (count(observed_run_s) - count(run_s)) / nullif(count(observed_run_s), 0) as excluded_pct,
        -- NULL, not 0, if the trace does not record it.
        case
            when count(is_right_censored) > 0
                then 100.0 * count(run_s) filter (where not is_complete) / nullif(count(run_s), 0)
        end as censored_pct
    from runs
    group by trace
),

curve as (
    select
        series as trace,
        value as run_s,
        percentile,
        low_pct,
        high_pct
    from stats.survival_curve('runs', trace, run_s, is_complete)
    where events > 0
),

-- Keeps the first value in each fifth of a percent, so that the curve is exact to a fifth of a percent.
points as (
    select
        curve.trace,
        cast(percentiles.percentile as double) as percentile,
        min(curve.run_s) filter (where curve.percentile >= percentiles.percentile) as run_s,
        min(curve.run_s) filter (where curve.high_pct >= percentiles.percentile) as low_run_s,
        min(curve.run_s) filter (where curve.low_pct >= percentiles.percentile) as high_run_s,
        cast(null as double) as low_pct,
        cast(null as double) as high_pct
    from curve
    cross join percentiles
    group by curve.trace, percentiles.percentile
    union all
    select
        trace,
        min(percentile) as percentile,
        min(run_s) as run_s,
        cast(null as double) as low_run_s,
        cast(null as double) as high_run_s,
        min(low_pct) as low_pct,
        min(high_pct) as high_pct
    from curve
    where every_value
    group by trace, floor(round(5 * percentile, 6))
)

select
    points.trace,
    points.percentile,
    points.run_s,
    points.low_run_s,
    points.high_run_s,
    points.low_pct,
    points.high_pct,
    counted.jobs,
    counted.unknown_pct,
    counted.excluded_pct,
    counted.censored_pct
from points
inner join counted on points.trace = counted.trace
order by points.trace, points.percentile;

comment on macro table unified.run_cdf is
'Percentiles of the run time of started GPU jobs per trace, estimated by Kaplan-Meier over jobs that were '
'observed for at least min_run_s: a job that still ran when the trace ended counts as running longer than '
'it was observed. low_run_s and high_run_s: bounds of the 95 % confidence interval, which treats jobs as '
'independent. A value is NULL where too few runs ended to estimate it. With every_value: observed run times, '
'the percentage of jobs that do not exceed each, and low_pct and high_pct, the bounds of its confidence '
'interval. jobs: number estimated from. censored_pct: share still running at the end. unknown_pct: share '
'of the GPU jobs of the trace without an observed run, because they never started, started before the '
'trace, or have no times. excluded_pct: share of observed jobs shorter than min_run_s.';
