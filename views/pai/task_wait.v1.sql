-- Wait of each task for its first instance (PAI).
-- grain: one row per (job_name, task_name) that started and has an instance that started
-- source: README of cluster-trace-gpu-v2020, pai_task_table and pai_instance_table
-- answers: wait
-- caveat: pai.empty_start_is_waiting
-- caveat: pai.failed_time_unknown: wait_s
-- caveat: pai.gpu_counts_are_fractions: requested_gpus_per_instance
-- caveat: pai.gpu_type_is_assigned: gpu_type
-- caveat: pai.gpu_type_null: gpu_type
-- caveat: pai.misc_is_many_types: gpu_type
-- caveat: pai.plan_gpu_null_is_cpu_task: requested_gpus_per_instance
-- caveat: pai.plan_is_per_instance: requested_gpus_per_instance
-- caveat: pai.shifted_clock: submit_s
-- caveat: pai.status_mix_drifts: status
-- caveat: pai.tasks_without_instances
-- materialize: parquet unsorted
create or replace view pai.task_wait_v1 as
with first_instance as (
    select
        job_name,
        task_name,
        min(start_time) as first_start_time
    from pai.instance
    where start_time > 0
    group by job_name, task_name
)

select
    task.job_name,
    task.task_name,
    task.status,
    task.gpu_type,
    task.inst_num as instances,
    task.plan_gpu / 100.0 as requested_gpus_per_instance,
    task.start_time as submit_s,
    first_instance.first_start_time - task.start_time as wait_s
from pai.task as task
inner join first_instance
    on task.job_name = first_instance.job_name and task.task_name = first_instance.task_name
where task.start_time > 0;

comment on column pai.task_wait_v1.requested_gpus_per_instance is 'GPUs requested for each instance, fractions included; NULL for tasks without a GPU [GPUs]; derived.';
comment on column pai.task_wait_v1.wait_s is 'Seconds from the task''s launch to its first instance''s launch; derived.';
