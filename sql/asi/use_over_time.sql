-- Allocation and use over time (ASI GPU pods)
-- param: per: what to group the GPUs by: gpu_model, cluster, priority or switch
-- choices: per: gpu_model cluster priority switch
-- param: by_day: give one row per day instead of one per hour
-- param: most_classes: number of classes with most GPUs to distinguish; the others are added up
-- range: most_classes: 1 to 100000
-- chart: line x=hour y=allocated_pct facet=class rule=used_pct
-- column: day: Day since the start of the trace
-- column: hour: Hour since the start of the trace in which the hour or the day begins
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
    per varchar := 'gpu_model',
    by_day boolean := false,
    most_classes integer := 12
) as table
with servers as (
    select
        day,
        hour_of_day,
        server_id,
        gpus,
        case per
            when 'gpu_model' then shown_model
            when 'cluster' then cluster
            when 'switch' then coalesce(switch, 'unknown')
            else 'any'
        end as class
    from asi.server_hour
    where day between from_day and to_day
),

sizes as (
    select
        class,
        fsum(gpus) as gpus
    from servers
    group by class
),

ranked as (
    select
        class,
        case
            when row_number() over (order by gpus desc, class asc) <= most_classes then class
        end as own_class
    from sizes
),

kinds as (
    select known.kind
    from (values ('HP'), ('LP'), ('Other'), ('any')) as known (kind)
    where case per when 'priority' then known.kind <> 'any' else known.kind = 'any' end
),

slots as (
    select
        servers.day,
        servers.hour_of_day,
        servers.server_id,
        servers.gpus,
        kinds.kind,
        case
            when kinds.kind <> 'any' then kinds.kind
            else coalesce(ranked.own_class, 'others')
        end as class,
        case when ranked.own_class is null then 1 else 0 end as comes_last
    from servers
    inner join ranked on servers.class = ranked.class
    cross join kinds
),

pods as (
    select
        day,
        hour_of_day,
        server_id,
        case per when 'priority' then priority else 'any' end as kind,
        is_standby,
        held_gpu_h,
        gpu_pct
    from asi.pod_hour
    where day between from_day and to_day and requested_gpus > 0
),

held as (
    select
        day,
        hour_of_day,
        server_id,
        kind,
        fsum(case when not is_standby then held_gpu_h end) as held_gpu_h,
        fsum(case when is_standby then held_gpu_h end) as standby_gpu_h,
        fsum(case when not is_standby and gpu_pct is not null then held_gpu_h end) as measured_gpu_h,
        fsum(case when not is_standby then held_gpu_h * gpu_pct end) as busy_gpu_h
    from pods
    group by day, hour_of_day, server_id, kind
),

used as (
    select
        slots.day,
        slots.hour_of_day,
        slots.class,
        slots.comes_last,
        slots.gpus,
        held.held_gpu_h,
        held.standby_gpu_h,
        held.measured_gpu_h,
        held.busy_gpu_h
    from slots
    left join held
        on
            slots.day = held.day
            and slots.hour_of_day = held.hour_of_day
            and slots.server_id = held.server_id
            and slots.kind = held.kind
),

periods as (
    select
        day,
        24 * day + case when by_day then 0 else hour_of_day end as hour,
        class,
        comes_last,
        gpus,
        held_gpu_h,
        standby_gpu_h,
        measured_gpu_h,
        busy_gpu_h
    from used
),

sums as (
    select
        day,
        hour,
        class,
        comes_last,
        fsum(gpus) as capacity_gpu_h,
        coalesce(fsum(held_gpu_h), 0) as held_gpu_h,
        coalesce(fsum(standby_gpu_h), 0) as standby_gpu_h,
        coalesce(fsum(measured_gpu_h), 0) as measured_gpu_h,
        coalesce(fsum(busy_gpu_h), 0) as busy_gpu_h
    from periods
    group by day, hour, class, comes_last
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
    busy_gpu_h / nullif(measured_gpu_h, 0) * held_gpu_h / capacity_gpu_h as used_pct
from sums
order by day, hour, comes_last, class;

comment on macro table asi.use_over_time is 'GPU time held and SM utilisation over time, by GPU model, cluster, priority or access switch. Use assumes that pods without a measurement are as busy as the others. GPU time in standby is not counted as held. The shares of the priorities refer to all GPUs, so that they add up; those of other classes refer to the GPUs of the class.';
