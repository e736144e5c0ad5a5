-- GPU time of launched instances by the hours of their starts and ends (PAI).
-- grain: one row per (gpu_type, start_hour, end_hour) of the launches that start, of tasks that request a GPU
-- source: README of cluster-trace-gpu-v2020, pai_task_table and pai_instance_table
-- caveat: pai.failed_time_unknown: end_hour first_gpu_s last_gpu_s
-- caveat: pai.gpu_counts_are_fractions: gpus first_gpu_s last_gpu_s
-- caveat: pai.gpu_type_is_assigned: gpu_type
-- caveat: pai.gpu_type_null: gpu_type
-- caveat: pai.misc_is_many_types: gpu_type
-- caveat: pai.shifted_clock: start_hour end_hour
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- materialize: parquet
create or replace view pai.gpu_launch_hours_v1 as
with launches as (
    select
        task.gpu_type,
        task.plan_gpu,
        instance.start_time as start_s,
        case when instance.end_time > instance.start_time then instance.end_time end as end_s,
        cast(floor(instance.start_time / 3600) as bigint) as start_hour
    from pai.instance as instance
    inner join pai.task as task
        on instance.job_name = task.job_name and instance.task_name = task.task_name
    where instance.start_time > 0 and task.plan_gpu > 0
),

placed as (
    select
        *,
        cast(floor(end_s / 3600) as bigint) as end_hour
    from launches
)

-- Seconds times percent are whole numbers. Units are converted last.
select
    gpu_type,
    start_hour,
    end_hour,
    count(*) as instances,
    stats.fsum(plan_gpu) / 100.0 as gpus,
    case
        when end_hour is not null
            then stats.fsum(plan_gpu * (least(end_s, 3600 * (start_hour + 1)) - start_s)) / 100.0
    end as first_gpu_s,
    case
        when end_hour = start_hour then 0
        when end_hour is not null then stats.fsum(plan_gpu * (end_s - 3600 * end_hour)) / 100.0
    end as last_gpu_s
from placed
group by gpu_type, start_hour, end_hour;

comment on column pai.gpu_launch_hours_v1.start_hour is 'Hour of the shifted clock in which the launches start [no unit]; derived.';
comment on column pai.gpu_launch_hours_v1.end_hour is 'Hour in which the launches end; NULL without an end after the start [no unit]; derived.';
comment on column pai.gpu_launch_hours_v1.instances is 'Launches of instances, re-runs included; derived.';
comment on column pai.gpu_launch_hours_v1.gpus is 'GPUs that the launches hold together, as planned; derived.';
comment on column pai.gpu_launch_hours_v1.first_gpu_s is 'GPU-seconds that the launches hold in the hour in which they start; NULL without an end; derived.';
comment on column pai.gpu_launch_hours_v1.last_gpu_s is 'GPU-seconds that the launches hold in the hour in which they end, 0 if they start in the same hour; NULL without an end; derived.';
