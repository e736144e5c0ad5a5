-- How long the instances of each PAI task ran, and whether all of them are in that time.
-- grain: one row per (job_name, task_name)
-- source: utils.py of cluster-trace-gpu-v2020, get_dfia: over all rows of an instance, re-runs included
-- caveat: pai.sentinel_zero_start: submit_s wait_s started_instances ended_instances first_start_s last_end_s run_s instance_run_s held_s is_run_whole
-- caveat: pai.tasks_without_instances: wait_s launched_instances started_instances ended_instances first_start_s last_end_s run_s instance_run_s held_s is_run_whole
-- caveat: pai.plan_is_per_instance: requested_gpus_per_instance
-- caveat: pai.group_tag_orphans: group_id workload requested_gpu_type
-- caveat: pai.workload_tag_is_rare: workload
-- caveat: pai.worker_name_repeats: launched_instances started_instances ended_instances
-- stored: parquet by job_name, task_name
-- Differs from version 1 in its last columns, in held_s, and in the last digits of instance_run_s: its sums are exact.
create or replace view pai.task_run_v2 as
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
        favg(end_s - start_s) as instance_run_s,
        fsum(end_s - start_s) filter (where end_s > start_s) as held_s
    from timed
    group by job_name, task_name
)

-- Outward from the tasks: those that wait have no instance, and are no less tasks for it.
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
    launched.held_s,
    coalesce(launched.ended_instances = launched.instances, false) as is_run_whole,
    task.plan_gpu / 100.0 as requested_gpus_per_instance,
    case when task.start_time > 0 then task.start_time end as submit_s,
    case when task.start_time > 0 then launched.first_start_s - task.start_time end as wait_s,
    job."user" as user_id,
    tag."group" as group_id,
    tag.workload,
    tag.gpu_type_spec as requested_gpu_type
from pai.task as task
left join launched on task.job_name = launched.job_name and task.task_name = launched.task_name
left join pai.job as job on task.job_name = job.job_name
left join pai.group_tag as tag on job.inst_id = tag.inst_id;

comment on column pai.task_run_v2.job_name is 'Job; measured.';
comment on column pai.task_run_v2.task_name is 'Task, its role in the job; measured.';
comment on column pai.task_run_v2.status is 'Final status of the task; measured.';
comment on column pai.task_run_v2.gpu_type is 'Type of GPU that the task was assigned; NULL for some tasks; measured.';
comment on column pai.task_run_v2.instances is 'Instances that the task launches; measured.';
comment on column pai.task_run_v2.launched_instances is 'Rows that the task has in pai.instance, one for each launch of an instance; derived.';
comment on column pai.task_run_v2.started_instances is 'Launches with a start; derived.';
comment on column pai.task_run_v2.ended_instances is 'Launches with a start and an end; derived.';
comment on column pai.task_run_v2.first_start_s is 'First start of an instance, in seconds of the shifted clock; NULL where none started; derived.';
comment on column pai.task_run_v2.last_end_s is 'Last end of an instance that has a start, in seconds of the shifted clock; NULL where none ended; derived.';
comment on column pai.task_run_v2.run_s is 'Seconds from the first start to the last end; derived.';
comment on column pai.task_run_v2.instance_run_s is 'Seconds from start to end, mean of the launches that have both; derived.';
comment on column pai.task_run_v2.held_s is 'Seconds from start to end, added up over all launches that have a start and a later end, re-runs included: how long its instances held what they were given; NULL where there is none; derived.';
comment on column pai.task_run_v2.is_run_whole is 'Whether every launch ended; where not, run_s may be that of a part of the instances, or too short; derived.';
comment on column pai.task_run_v2.requested_gpus_per_instance is 'GPUs that the task plans for each instance, fractions included; NULL for tasks without a GPU; derived.';
comment on column pai.task_run_v2.submit_s is 'Start of the task, in seconds of the shifted clock; NULL where it has none; derived.';
comment on column pai.task_run_v2.wait_s is 'Seconds from the start of the task to the first start of an instance; NULL unless both happened; derived.';
comment on column pai.task_run_v2.user_id is 'User of the job; measured.';
comment on column pai.task_run_v2.group_id is 'Group of the job''s tag; NULL where it has none; measured.';
comment on column pai.task_run_v2.workload is 'Workload tag of the job; NULL for most jobs; measured.';
comment on column pai.task_run_v2.requested_gpu_type is 'Type of GPU that the job asked for; NULL where any would do; measured.';
