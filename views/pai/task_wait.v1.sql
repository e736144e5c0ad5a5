-- Wait of each task for its first instance (PAI).
-- grain: one row per (job_name, task_name) that started and has an instance that started
-- source: README of cluster-trace-gpu-v2020, pai_task_table and pai_instance_table
-- caveat: pai.sentinel_zero_start: submit_s wait_s
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

comment on column pai.task_wait_v1.requested_gpus_per_instance is 'GPUs requested for each instance, fractions included; NULL for tasks without a GPU; derived.';
comment on column pai.task_wait_v1.wait_s is 'Seconds from the task''s launch to its first instance''s launch; derived.';
