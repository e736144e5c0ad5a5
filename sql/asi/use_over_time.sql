-- Allocation and use over time (ASI GPU pods)
-- answers: allocated GPUs
-- resolves_caveat: asi.switches_are_uneven
-- chart: line x=hour y=allocated_pct facet=class rule=used_pct
-- column: day [no unit]: Day since the start of the trace
-- column: hour [no unit]: Hour since the start of the trace in which the hour or the day begins
-- column: class: GPU model, cluster, priority or switch, or others
-- column: capacity_gpu_h: GPU time of all servers of the class; of all servers for a priority
-- column: held_gpu_h: GPU time held by GPU pods that are not in standby
-- column: standby_gpu_h: GPU time held by GPU pods in standby
-- column: allocated_pct: GPU time held in percent of the capacity
-- column: measured_pct: Share of the GPU time held by pods with a measured SM utilisation
-- column: used_pct: SM utilisation of these pods, weighted by GPU time, times the allocated share
create or replace macro asi.use_over_time(
    from_day integer := 109,
    to_day integer := 115,
    -- what to group the GPUs by: gpu_model, cluster, priority or switch [gpu_model cluster priority switch]
    per varchar := 'gpu_model',
    -- give one row per day instead of one per hour
    by_day boolean := false,
    -- number of classes with most GPUs to distinguish; the others are added up [1 to 100000]
    most_classes integer := 12
) as table
with hours as (
    select
        day,
        24 * day + case when by_day then 0 else hour_of_day end as hour,
        case per
            when 'gpu_model' then shown_model
            when 'cluster' then cluster
            when 'priority' then priority
            else coalesce(switch, 'unknown')
        end as class,
        -- The GPUs of a server are repeated for each priority.
        case when per = 'priority' or priority = 'HP' then capacity_gpu_h end as capacity_gpu_h,
        held_gpu_h,
        standby_gpu_h,
        measured_gpu_h,
        busy_gpu_h
    from asi.allocation_hour
    where day between from_day and to_day
),

sizes as (
    select
        class,
        stats.fsum(capacity_gpu_h) as capacity_gpu_h
    from hours
    group by class
),

ranked as (
    select
        class,
        per = 'priority'
        or row_number() over (order by capacity_gpu_h desc, class asc) <= most_classes as is_shown
    from sizes
),

shown as (
    select
        hours.day,
        hours.hour,
        case when ranked.is_shown then hours.class else 'others' end as class,
        ranked.is_shown,
        hours.capacity_gpu_h,
        hours.held_gpu_h,
        hours.standby_gpu_h,
        hours.measured_gpu_h,
        hours.busy_gpu_h
    from hours
    inner join ranked on hours.class = ranked.class
),

sums as (
    select
        day,
        hour,
        class,
        is_shown,
        stats.fsum(shown.capacity_gpu_h) as capacity_gpu_h,
        stats.fsum(shown.held_gpu_h) as held_gpu_h,
        stats.fsum(shown.standby_gpu_h) as standby_gpu_h,
        stats.fsum(shown.measured_gpu_h) as measured_gpu_h,
        stats.fsum(shown.busy_gpu_h) as busy_gpu_h
    from shown
    group by day, hour, class, is_shown
)

select
    day,
    hour,
    class,
    capacity_gpu_h,
    held_gpu_h,
    standby_gpu_h,
    100.0 * held_gpu_h / capacity_gpu_h as allocated_pct,
    100.0 * measured_gpu_h / nullif(held_gpu_h, 0) as measured_pct,
    100.0 * busy_gpu_h / nullif(measured_gpu_h, 0) * held_gpu_h / capacity_gpu_h as used_pct
from sums
order by day asc, hour asc, is_shown desc, class asc;

comment on macro table asi.use_over_time is
'GPU time held and SM utilisation over time, by GPU model, cluster, priority or access switch. Use '
'assumes that pods without a measurement are as busy as the others. GPU time in standby is not counted as '
'held. The shares of the priorities refer to all GPUs, so that they add up; those of other classes refer '
'to the GPUs of the class. GPU time held, allocation and use are NULL except on days 109 to 115: on '
'others, standby is unknown.';
