-- Lifetimes of pods by class (ASI pods)
-- resolves_caveat: asi.pods_without_gpu
-- chart: step x=lifetime_h:log y=percentile color=class band=low_pct,high_pct interval=greenwood with=every_value yname=pods_pct note=Kaplan-Meier: pods that lived in the last loaded hour count as living longer. Where a curve ends below 100 %, longer lifetimes are unknown. HP and LP: high and low priority.
-- column: class: Priority, kind of job, kind of model, or GPU model
-- column: percentile [percent]: Estimated percentage of the pods of the class whose lifetime does not exceed lifetime_h
-- column: lifetime_h: Hours from the first to the last in which a pod was seen
-- column: pct: Percentile
-- column: pods: Pods of the class that began in the loaded data
-- column: left_censored_pct: Share of the pods that began before the loaded data
-- column: censored_pct: Share of the pods that the end of the loaded data cuts off
-- column: gap_pct: Share of the pods that were missing in an hour between their first and last
create or replace macro asi.lifetimes(
    -- what to group the pods by: priority, job_type, model_type or gpu_model [priority job_type model_type
    -- gpu_model]
    per varchar := 'priority',
    gpu_only boolean := true,
    every_value boolean := false
) as table
with percentiles as (
    select unnest([1, 5, 10, 25, 50, 75, 90, 95, 99]) as percentile
    where not every_value
),

lives as (
    select
        is_left_censored,
        not is_right_censored as has_ended,
        gap_hours,
        case per
            when 'priority' then priority
            when 'job_type' then job_type
            when 'model_type' then model_type
            else shown_model
        end as class,
        case when not is_left_censored then lifetime_h end as lifetime_h
    from asi.pod_life
    where not gpu_only or requested_gpus > 0
),

counted as (
    select
        class,
        count(lifetime_h) as pods,
        100.0 * count(*) filter (where is_left_censored) / count(*) as left_censored_pct,
        100.0 * count(lifetime_h) filter (where not has_ended) / nullif(count(lifetime_h), 0) as censored_pct,
        100.0 * count(lifetime_h) filter (where gap_hours > 0) / nullif(count(lifetime_h), 0) as gap_pct
    from lives
    group by class
),

curve as (
    select
        series as class,
        value as lifetime_h,
        percentile,
        low_pct,
        high_pct
    from stats.survival_curve('lives', class, lifetime_h, has_ended)
    where events > 0
),

-- Keeps the first value in each fifth of a percent, so that the curve is exact to a fifth of a percent.
points as (
    select
        curve.class,
        cast(percentiles.percentile as double) as percentile,
        min(curve.lifetime_h) filter (where curve.percentile >= percentiles.percentile) as lifetime_h,
        min(curve.lifetime_h) filter (where curve.high_pct >= percentiles.percentile) as low_lifetime_h,
        min(curve.lifetime_h) filter (where curve.low_pct >= percentiles.percentile) as high_lifetime_h,
        cast(null as double) as low_pct,
        cast(null as double) as high_pct
    from curve
    cross join percentiles
    group by curve.class, percentiles.percentile
    union all
    select
        class,
        min(percentile) as percentile,
        min(lifetime_h) as lifetime_h,
        cast(null as bigint) as low_lifetime_h,
        cast(null as bigint) as high_lifetime_h,
        min(low_pct) as low_pct,
        min(high_pct) as high_pct
    from curve
    where every_value
    group by class, floor(round(5 * percentile, 6))
)

select
    points.class,
    points.percentile,
    points.lifetime_h,
    points.low_lifetime_h,
    points.high_lifetime_h,
    points.low_pct,
    points.high_pct,
    counted.pods,
    counted.left_censored_pct,
    counted.censored_pct,
    counted.gap_pct
from points
inner join counted on points.class = counted.class
order by points.class, points.percentile;

comment on macro table asi.lifetimes is
'Percentiles of the lifetime of pods, from the first to the last hour in which they were seen, per class, '
'estimated by Kaplan-Meier: a pod that was there in the last hour that is loaded counts as living longer. '
'A pod that lives for less than an hour has a lifetime of 1 or 2, as it may be seen in two hours. '
'low_lifetime_h and high_lifetime_h are the bounds of the 95 % confidence interval, which treats pods as '
'independent. A value is NULL where too few pods ended to estimate it. With every_value, observed '
'lifetimes with the percentage of pods that do not exceed each, and low_pct and high_pct, the bounds of '
'its confidence interval. pods are the pods of the estimate, censored_pct those of them that the end of '
'the loaded data cuts off, and gap_pct those that were missing in an hour between. left_censored_pct is '
'the percentage of the pods of the class that were there when the loaded data begin, which are left out.';
