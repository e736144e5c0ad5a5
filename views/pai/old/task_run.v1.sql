-- Run of each task over its instances, and whether all of them are in it (PAI).
-- grain: one row per (job_name, task_name)
-- source: utils.py of cluster-trace-gpu-v2020, get_dfia: over all rows of an instance, re-runs included
-- caveat: pai.sentinel_zero_start: started_instances ended_instances first_start_s last_end_s run_s instance_run_s is_run_whole
-- caveat: pai.tasks_without_instances: launched_instances started_instances ended_instances first_start_s last_end_s run_s instance_run_s is_run_whole
-- caveat: pai.worker_name_repeats: launched_instances started_instances ended_instances
create or replace view pai.task_run_v1 as
with timed as (
    select
        job_name,
        task_name,
        case when start_time > 0 then start_time end as start_s,
        case when start_time > 0 and end_time > 0 then end_time end as end_s
    from pai.instance
),

launched as (
    select
        job_name,
        task_name,
        count(*) as instances,
        count(start_s) as started_instances,
        count(end_s) as ended_instances,
        min(start_s) as first_start_s,
        max(end_s) as last_end_s,
        stats.favg(end_s - start_s) as instance_run_s
    from timed
    group by job_name, task_name
)

-- Left join from the tasks: waiting tasks have no instance, but are rows too.
select
    task.job_name,
    task.task_name,
    task.status,
    task.gpu_type,
    task.inst_num as instances,
    coalesce(launched.instances, 0) as launched_instances,
    coalesce(launched.started_instances, 0) as started_instances,
    coalesce(launched.ended_instances, 0) as ended_instances,
    launched.first_start_s,
    launched.last_end_s,
    launched.last_end_s - launched.first_start_s as run_s,
    launched.instance_run_s,
    coalesce(launched.ended_instances = launched.instances, false) as is_run_whole
from pai.task as task
left join launched on task.job_name = launched.job_name and task.task_name = launched.task_name;

comment on column pai.task_run_v1.launched_instances is 'Rows of the task in pai.instance, one for each launch of an instance; derived.';
comment on column pai.task_run_v1.started_instances is 'Launches with a start; derived.';
comment on column pai.task_run_v1.ended_instances is 'Launches with a start and an end; derived.';
comment on column pai.task_run_v1.first_start_s is 'First start of an instance, in seconds of the shifted clock; NULL if none started; derived.';
comment on column pai.task_run_v1.last_end_s is 'Last end of an instance that has a start, in seconds of the shifted clock; NULL if none ended; derived.';
comment on column pai.task_run_v1.run_s is 'Seconds from the first start to the last end; derived.';
comment on column pai.task_run_v1.instance_run_s is 'Seconds from start to end, mean of the launches that have both; derived.';
comment on column pai.task_run_v1.is_run_whole is 'Whether every launch ended; if not, run_s may cover only some instances, or be too short; derived.';
