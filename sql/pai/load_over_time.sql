-- GPU demand, allocation, queueing delay per day (PAI tasks)
-- caveat: pai.gpu_type_is_assigned
-- caveat: pai.gpu_type_null
-- caveat: pai.plan_is_per_instance
-- caveat: pai.sentinel_zero_start
-- caveat: pai.shifted_clock
-- caveat: pai.tasks_without_instances
-- resolves_caveat: pai.gpu_type_null
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- chart: line x=period_start_s y=held_gpus partial=first,last rule=capacity_gpus facet=gpu_type title=Allocated GPUs over time by GPU type (PAI tasks)
-- column: period_start_s: Begin of a day or an hour on the trace's clock
-- column: weekday [no unit]: Day of the week at the location of the cluster, 1 Monday to 7 Sunday
-- column: hour_of_day [no unit]: Hour of the day at the location of the cluster, 0 to 23
-- column: tasks: GPU tasks submitted in the period
-- column: tasks_with_size [tasks]: GPU tasks that state a number of instances
-- column: submitted_gpus: GPUs that tasks submitted in the period request
-- column: held_gpus: GPUs requested by running instances, mean over the period
-- column: unended_instances: GPU instances that started in the period without an end, left out of the GPUs held
-- column: capacity_gpus: GPUs of the machines of the type
-- column: held_pct: Held GPUs in percent of the capacity
-- column: never_started_tasks: GPU tasks submitted in the period without a launched instance
create or replace macro pai.load_over_time(
    -- length of a period, on the clock in China [day hour]
    every varchar := 'day',
    -- assigned GPU type of the tasks [any MISC T4 P100 V100 V100M32]
    on_gpu_type varchar := 'any',
    from_hour bigint := 0,
    to_hour bigint := 100000
) as table
with clock as (
    select
        case every when 'hour' then 3600 else 86400 end as period_s,
        cast(local_offset_s as bigint) as local_offset_s
    from catalog.clocks
    where clock = 'pai.shifted'
),

tasks as (
    select
        gpu_type,
        instances,
        requested_gpus_per_instance,
        submit_s,
        wait_s
    from pai.task_run
    where requested_gpus_per_instance > 0 and (on_gpu_type = 'any' or gpu_type = on_gpu_type)
),

-- Days start at midnight in China.
submitted as (
    select
        cast(floor((tasks.submit_s + clock.local_offset_s) / clock.period_s) as bigint) as period,
        tasks.gpu_type,
        count(*) as tasks,
        count(tasks.instances) as tasks_with_size,
        stats.fsum(tasks.instances * tasks.requested_gpus_per_instance) as submitted_gpus,
        count(tasks.wait_s) as started_tasks,
        stats.percentiles(tasks.wait_s) as wait_s
    from tasks
    cross join clock
    where tasks.submit_s is not null
    group by all
),

-- A full hour of the clock lies within one day in China.
hourly as (
    select
        *,
        unnest(generate_series(start_hour, coalesce(end_hour, start_hour))) as hour
    from pai.gpu_launch_hours
    where on_gpu_type = 'any' or gpu_type = on_gpu_type
),

held as (
    select
        cast(floor((3600 * hourly.hour + clock.local_offset_s) / clock.period_s) as bigint) as period,
        hourly.gpu_type,
        stats.fsum(
            case hourly.hour
                when hourly.start_hour then hourly.first_gpu_s
                when hourly.end_hour then hourly.last_gpu_s
                else 3600 * hourly.gpus
            end
        ) as held_gpu_s,
        sum(case when hourly.end_hour is null then hourly.instances end) as unended_instances
    from hourly
    cross join clock
    group by all
),

covered_periods as ( -- noqa: ST03
    select period
    from submitted
    union all
    select period
    from held
),

periods as (
    select number as period
    from stats.number_range('covered_periods', null, period)
),

types as (
    select distinct gpu_type
    from tasks
),

capacity as (
    select
        partition_name as gpu_type,
        gpus
    from pai.cluster_capacity
),

-- Includes periods in which a type is idle.
listed as (
    select
        periods.period,
        periods.period * clock.period_s - clock.local_offset_s as period_start_s,
        clock.period_s,
        clock.local_offset_s,
        types.gpu_type
    from periods
    cross join types
    cross join clock
),

filled as (
    select
        listed.period,
        listed.period_start_s,
        listed.local_offset_s,
        listed.gpu_type,
        coalesce(submitted.tasks, 0) as tasks,
        coalesce(submitted.tasks_with_size, 0) as tasks_with_size,
        coalesce(submitted.submitted_gpus, 0) as submitted_gpus,
        coalesce(held.held_gpu_s, 0) / listed.period_s as held_gpus,
        coalesce(held.unended_instances, 0) as unended_instances,
        capacity.gpus as capacity_gpus,
        coalesce(submitted.tasks - submitted.started_tasks, 0) as never_started_tasks,
        submitted.wait_s.median as median_wait_s,
        submitted.wait_s.p75 as p75_wait_s,
        submitted.wait_s.p90 as p90_wait_s,
        submitted.wait_s.p95 as p95_wait_s,
        submitted.wait_s.p99 as p99_wait_s
    from listed
    left join submitted
        on listed.period = submitted.period and listed.gpu_type is not distinct from submitted.gpu_type
    left join held
        on listed.period = held.period and listed.gpu_type is not distinct from held.gpu_type
    left join capacity on listed.gpu_type = capacity.gpu_type
)

select
    period_start_s,
    stats.weekday(period_start_s + local_offset_s) as weekday,
    case when every = 'hour' then period % 24 end as hour_of_day,
    gpu_type,
    tasks,
    tasks_with_size,
    submitted_gpus,
    held_gpus,
    cast(unended_instances as bigint) as unended_instances,
    cast(capacity_gpus as bigint) as capacity_gpus,
    100.0 * held_gpus / nullif(capacity_gpus, 0) as held_pct,
    never_started_tasks,
    median_wait_s,
    p75_wait_s,
    p90_wait_s,
    p95_wait_s,
    p99_wait_s
from filled
where period_start_s between 3600 * from_hour and 3600 * to_hour
order by period_start_s, gpu_type;

comment on macro table pai.load_over_time is
'GPU tasks per day or hour of the clock in China and per assigned GPU type (NULL: none). There is a row '
'for each type and each period between the first and the last in which a selected task of any type was '
'submitted, or a launch of its instances started or had not ended. period_start_s is the start of the '
'period in seconds of the shifted clock, weekday its day of the week in China (1 Monday to 7 Sunday) and '
'hour_of_day its hour there, NULL where periods are days. The first and the last period are covered only '
'in part. tasks counts tasks whose start lies in the period; tasks without a start are left out. '
'submitted_gpus is the sum of inst_num times plan_gpu / 100 over the tasks_with_size that have an '
'inst_num. held_gpus is the mean over the period of the GPUs requested by running instances, whenever '
'their task was submitted, over all launches with a start and a later end, including re-runs; failed and '
'interrupted ones lack a time. unended_instances counts launches that started in the period without a '
'later end, running and failed ones; held_gpus never includes them. capacity_gpus counts the GPUs of the '
'machines of the type (NULL for none); held_pct is held_gpus in percent of it. Queueing delay runs from '
'the start of the task to the first start of an instance and is reported for tasks submitted in the '
'period, as interpolated percentiles; never_started_tasks have no instance with a start, so no '
'percentile includes them.';
