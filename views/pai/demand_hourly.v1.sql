-- Hourly plans of running instances: CPU cores, memory and GPUs, shared and whole (PAI).
-- grain: one row per hour of the shifted clock, from the first start to the last end, idle hours too
-- source: README of cluster-trace-gpu-v2020, pai_task_table and pai_instance_table; MLaaS in the Wild (NSDI 2022) for whole GPUs
-- caveat: pai.failed_time_unknown: running_instances requested_cpus requested_memory_gb requested_gpus sharing_gpus whole_gpus requested_gpus_if_whole unended_instances
-- caveat: pai.memory_gb_looks_binary: requested_memory_gb
-- caveat: pai.notebook_week_starts_later: hour hour_start_s weekday hour_of_day running_instances requested_cpus requested_memory_gb requested_gpus sharing_gpus whole_gpus requested_gpus_if_whole
-- caveat: pai.shifted_clock: hour hour_start_s
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- materialize: parquet
create or replace view pai.demand_hourly_v1 as
-- Instances of a task mostly start and end together, so grouping leaves few rows for the join with their plan.
with spans as (
    select
        job_name,
        task_name,
        cast(floor(start_time / 3600) as bigint) as start_hour,
        case when end_time > start_time then cast(floor(end_time / 3600) as bigint) end as end_hour,
        count(*) as instances,
        sum(3600 * (floor(start_time / 3600) + 1) - start_time) as start_left_s,
        sum(3600 * (floor(end_time / 3600) + 1) - end_time) as end_left_s
    from pai.instance
    where start_time > 0
    group by all
),

planned as (
    select
        spans.start_hour,
        spans.end_hour,
        spans.instances,
        spans.start_left_s,
        spans.end_left_s,
        coalesce(task.plan_cpu, 0) as plan_cpu,
        coalesce(task.plan_mem, 0) as plan_mem,
        coalesce(task.plan_gpu, 0) as plan_gpu,
        case when task.plan_gpu > 0 and task.plan_gpu < 100 then task.plan_gpu else 0 end as sharing_plan_gpu,
        case when task.plan_gpu >= 100 then task.plan_gpu else 0 end as whole_plan_gpu,
        ceil(coalesce(task.plan_gpu, 0) / 100) as gpus_if_whole
    from spans
    inner join pai.task as task
        on spans.job_name = task.job_name and spans.task_name = task.task_name
),

edges as (
    select unnest(['start', 'after start', 'end', 'after end']) as edge
),

-- The change from each hour to the next, in instance-seconds. A start adds the remainder of its hour, and in the
-- next hour what is missing to 3600 s. An end subtracts both in the same way.
changes as (
    select
        case edges.edge
            when 'start' then planned.start_hour
            when 'after start' then planned.start_hour + 1
            when 'end' then planned.end_hour
            else planned.end_hour + 1
        end as hour,
        case edges.edge
            when 'start' then planned.start_left_s
            when 'after start' then 3600 * planned.instances - planned.start_left_s
            when 'end' then -planned.end_left_s
            else planned.end_left_s - 3600 * planned.instances
        end as added_s,
        planned.plan_cpu,
        planned.plan_mem,
        planned.plan_gpu,
        planned.sharing_plan_gpu,
        planned.whole_plan_gpu,
        planned.gpus_if_whole
    from planned
    cross join edges
    where planned.end_hour is not null
),

-- Sums of seconds times percent are whole numbers, which doubles add without error. Units are converted last.
hourly_changes as (
    select
        hour,
        sum(added_s) as instance_s,
        sum(added_s * plan_cpu) as cpu_pct_s,
        sum(added_s * plan_mem) as memory_gb_s,
        sum(added_s * plan_gpu) as gpu_pct_s,
        sum(added_s * sharing_plan_gpu) as sharing_gpu_pct_s,
        sum(added_s * whole_plan_gpu) as whole_gpu_pct_s,
        sum(added_s * gpus_if_whole) as gpu_if_whole_s
    from changes
    group by hour
),

unended as (
    select
        start_hour as hour,
        sum(instances) as unended_instances
    from planned
    where end_hour is null
    group by start_hour
),

bounds as (
    select
        min(start_hour) as first_hour,
        max(greatest(start_hour, end_hour)) as last_hour
    from planned
),

hours as (
    select unnest(generate_series(first_hour, last_hour)) as hour
    from bounds
),

running as (
    select
        hours.hour,
        coalesce(unended.unended_instances, 0) as unended_instances,
        coalesce(sum(changes.instance_s) over so_far, 0) as instance_s,
        coalesce(sum(changes.cpu_pct_s) over so_far, 0) as cpu_pct_s,
        coalesce(sum(changes.memory_gb_s) over so_far, 0) as memory_gb_s,
        coalesce(sum(changes.gpu_pct_s) over so_far, 0) as gpu_pct_s,
        coalesce(sum(changes.sharing_gpu_pct_s) over so_far, 0) as sharing_gpu_pct_s,
        coalesce(sum(changes.whole_gpu_pct_s) over so_far, 0) as whole_gpu_pct_s,
        coalesce(sum(changes.gpu_if_whole_s) over so_far, 0) as gpu_if_whole_s
    from hours
    left join hourly_changes as changes on hours.hour = changes.hour
    left join unended on hours.hour = unended.hour
    window so_far as (order by hours.hour rows between unbounded preceding and current row)
)

select
    hour,
    3600 * hour as hour_start_s,
    -- Eight hours ahead of UTC.
    stats.weekday(3600 * (hour + 8)) as weekday,
    (hour + 8) % 24 as hour_of_day,
    instance_s / 3600.0 as running_instances,
    cpu_pct_s / 360000.0 as requested_cpus,
    memory_gb_s / 3600.0 as requested_memory_gb,
    gpu_pct_s / 360000.0 as requested_gpus,
    sharing_gpu_pct_s / 360000.0 as sharing_gpus,
    whole_gpu_pct_s / 360000.0 as whole_gpus,
    gpu_if_whole_s / 3600.0 as requested_gpus_if_whole,
    cast(unended_instances as bigint) as unended_instances
from running;

comment on column pai.demand_hourly_v1.hour is 'Hour of the shifted clock, counted from 0 [no unit]; derived.';
comment on column pai.demand_hourly_v1.hour_start_s is 'Start of the hour in seconds of the shifted clock; derived.';
comment on column pai.demand_hourly_v1.weekday is 'Day of the week in China, 1 Monday to 7 Sunday, which is true although dates are shifted [no unit]; derived.';
comment on column pai.demand_hourly_v1.hour_of_day is 'Hour of the day in China, 0 to 23, which is true although dates are shifted [no unit]; derived.';
comment on column pai.demand_hourly_v1.running_instances is 'Instances running, mean over the hour, of those that have a start, an end after it and a task; derived.';
comment on column pai.demand_hourly_v1.requested_cpus is 'CPU cores planned for the running instances, mean over the hour; derived.';
comment on column pai.demand_hourly_v1.requested_memory_gb is 'Main memory planned for the running instances in GB, mean over the hour; derived.';
comment on column pai.demand_hourly_v1.requested_gpus is 'GPUs planned for the running instances, fractions included, mean over the hour; derived.';
comment on column pai.demand_hourly_v1.sharing_gpus is 'Part of requested_gpus from instances that planned less than one GPU; derived.';
comment on column pai.demand_hourly_v1.whole_gpus is 'Part of requested_gpus from instances that planned one GPU or more; derived.';
comment on column pai.demand_hourly_v1.requested_gpus_if_whole is 'GPUs that the same instances would hold if none could be shared, each plan rounded up, mean over the hour [GPUs]; derived.';
comment on column pai.demand_hourly_v1.unended_instances is 'Instances that started in this hour and have no end after it: excluded from the other columns; derived.';
