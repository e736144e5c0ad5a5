-- Run of each task over its instances, and whether all of them are in it (PAI).
-- grain: one row per (job_name, task_name)
-- source: utils.py of cluster-trace-gpu-v2020, get_dfia: over all rows of an instance, re-runs included; its README: only Terminated and Failed are final
-- answers: run
-- caveat: pai.empty_start_is_waiting: submit_s
-- caveat: pai.failed_time_unknown: run_s observed_run_s instance_run_s held_s ended_instances is_run_whole wait_s first_start_s started_instances
-- caveat: pai.gpu_counts_are_fractions: requested_gpus_per_instance
-- caveat: pai.gpu_type_is_assigned: gpu_type
-- caveat: pai.gpu_type_null: gpu_type
-- caveat: pai.misc_is_many_types: gpu_type
-- caveat: pai.plan_gpu_null_is_cpu_task: requested_gpus_per_instance
-- caveat: pai.plan_is_per_instance: requested_gpus_per_instance
-- caveat: pai.shifted_clock: submit_s first_start_s last_end_s
-- caveat: pai.status_mix_drifts: status
-- caveat: pai.tasks_without_instances: wait_s
-- caveat: pai.worker_name_repeats: launched_instances started_instances ended_instances
-- caveat: pai.workload_tag_is_rare: workload
-- resolves_caveat: pai.group_falls_back_to_user
-- resolves_caveat: pai.group_tag_orphans
-- materialize: parquet unsorted
-- Differs from version 1 in its last columns, in held_s, in run_s, which only tasks that ended have, and in the last digits
-- of instance_run_s: its sums are exact.
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
        stats.favg(end_s - start_s) as instance_run_s,
        stats.fsum(case when end_s > start_s then end_s - start_s end) as held_s
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
    -- Some instances of an unfinished task may have ended: they show how long the task was seen running.
    case
        when task.status in ('Terminated', 'Failed') then launched.last_end_s - launched.first_start_s
    end as run_s,
    launched.last_end_s - launched.first_start_s as observed_run_s,
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

comment on column pai.task_run_v2.run_s is 'Seconds from the first start to the last end of an instance; NULL unless the task terminated or failed; derived.';
comment on column pai.task_run_v2.observed_run_s is 'Seconds from the first start to the last end of an instance, of tasks that had not ended too: a lower bound of their run; NULL if no instance ended; derived.';
comment on column pai.task_run_v2.held_s is 'Seconds from start to end, summed over all launches that have a start and a later end, re-runs included, the time in which instances held resources; failed and interrupted launches lack one of the times; NULL where there is none; derived.';
comment on column pai.task_run_v2.requested_gpus_per_instance is 'GPUs that the task plans for each instance, fractions included; NULL for tasks without a GPU [GPUs]; derived.';
comment on column pai.task_run_v2.submit_s is 'Start of the task, in seconds of the shifted clock; NULL where it has none; derived.';
comment on column pai.task_run_v2.wait_s is 'Seconds from the start of the task to the first start of an instance; NULL unless both happened; derived.';
comment on column pai.task_run_v2.group_id is 'Group of the job''s tag; NULL where it has none; measured.';
comment on column pai.task_run_v2.workload is 'Workload tag of the job; NULL for most jobs; measured.';
