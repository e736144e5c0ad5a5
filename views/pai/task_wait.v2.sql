-- How long each PAI task waited for its first instance.
-- grain: one row per (job_name, task_name) that started and has an instance that started
-- source: README of cluster-trace-gpu-v2020, pai_task_table and pai_instance_table
-- caveat: pai.sentinel_zero_start: submit_s wait_s
-- The rows and values of version 1, but read from pai.task_run, which is stored.
create or replace view pai.task_wait_v2 as
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

comment on column pai.task_wait_v2.job_name is 'Job; measured.';
comment on column pai.task_wait_v2.task_name is 'Task, its role in the job; measured.';
comment on column pai.task_wait_v2.status is 'Final status of the task; measured.';
comment on column pai.task_wait_v2.gpu_type is 'Type of GPU that the task was assigned; NULL for some tasks; measured.';
comment on column pai.task_wait_v2.instances is 'Instances that the task launches; measured.';
comment on column pai.task_wait_v2.requested_gpus_per_instance is 'GPUs requested for each instance, fractions included; NULL for tasks without a GPU; derived.';
comment on column pai.task_wait_v2.submit_s is 'Launch of the task in seconds of the shifted clock; measured.';
comment on column pai.task_wait_v2.wait_s is 'Seconds from the task''s launch to its first instance''s launch; derived.';
