-- Run of each task over its instances, whole and as far as seen (PAI).
-- grain: one row per (job_name, task_name)
-- source: README of cluster-trace-gpu-v2020: only Terminated and Failed are final
-- Differs from version 2 in run_s, which only tasks that ended have, and in observed_run_s.
create or replace view pai.task_run_v3 as
select
    job_name,
    task_name,
    status,
    gpu_type,
    instances,
    launched_instances,
    started_instances,
    ended_instances,
    first_start_s,
    last_end_s,
    -- Instances of a task that has not ended may have: they tell how long it was seen running.
    case when status in ('Terminated', 'Failed') then run_s end as run_s,
    run_s as observed_run_s,
    instance_run_s,
    held_s,
    is_run_whole,
    requested_gpus_per_instance,
    submit_s,
    wait_s,
    user_id,
    group_id,
    workload,
    requested_gpu_type
from pai.task_run_v2;

comment on column pai.task_run_v3.run_s is 'Seconds from the first start to the last end of an instance; NULL unless the task terminated or failed; derived.';
comment on column pai.task_run_v3.observed_run_s is 'Seconds from the first start to the last end of an instance, of tasks that had not ended too: a lower bound of their run; NULL if no instance ended; derived.';
