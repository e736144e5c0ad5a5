-- Wait of each task for its first instance (PAI).
-- grain: one row per (job_name, task_name) that started and has an instance that started
-- source: README of cluster-trace-gpu-v2020, pai_task_table and pai_instance_table
-- caveat: pai.sentinel_zero_start: submit_s wait_s
create or replace view pai.task_wait_v1 as
select
    job_name,
    task_name,
    status,
    gpu_type,
    instances,
    requested_gpus_per_instance,
    submit_s,
    wait_s
from pai.task_run_v2
where wait_s is not null;

comment on column pai.task_wait_v1.requested_gpus_per_instance is 'GPUs requested for each instance, fractions included; NULL for tasks without a GPU; derived.';
comment on column pai.task_wait_v1.wait_s is 'Seconds from the task''s launch to its first instance''s launch; derived.';
