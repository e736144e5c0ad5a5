-- CPU, GPU and memory that each task planned and that its workers used (PAI).
-- grain: one row per (job_name, task_name) that has a sensor row
-- source: analysis notebook of cluster-trace-gpu-v2020, after figure 6: (plan - usage) / capacity per worker
-- caveat: pai.sensor_covers_two_fifths
-- caveat: pai.gpu_use_over_100: used_gpus gpu_use_of_plan gpu_margin_of_capacity
-- caveat: pai.sensor_is_lifetime_average
-- Version 2 gives the same rows.
create or replace view pai.task_usage_v1 as
select
    job_name,
    task_name,
    gpu_type,
    workers,
    requested_cpus,
    used_cpus,
    requested_gpus,
    used_gpus,
    requested_memory_gb,
    used_memory_gb,
    cpu_use_of_plan,
    gpu_use_of_plan,
    memory_use_of_plan,
    cpu_margin_of_capacity,
    gpu_margin_of_capacity,
    memory_margin_of_capacity
from pai.task_usage_v2;

comment on column pai.task_usage_v1.workers is 'Workers of the task that the sensors recorded; derived.';
comment on column pai.task_usage_v1.requested_cpus is 'CPU cores planned per instance; derived.';
comment on column pai.task_usage_v1.used_cpus is 'CPU cores used, mean of the workers'' lifetime averages; derived.';
comment on column pai.task_usage_v1.requested_gpus is 'GPUs planned per instance, fractions included; NULL for tasks without a GPU; derived.';
comment on column pai.task_usage_v1.used_gpus is 'GPUs used, mean of the workers'' lifetime averages, each summed over the worker''s GPUs; derived.';
comment on column pai.task_usage_v1.used_memory_gb is 'Main memory used in GB, mean of the workers'' lifetime averages; derived.';
comment on column pai.task_usage_v1.cpu_use_of_plan is 'Used over planned CPU, mean of the workers; above 1: more used than planned [ratio]; derived.';
comment on column pai.task_usage_v1.gpu_use_of_plan is 'Used over planned GPU, mean of the workers; NULL where none was planned [ratio]; derived.';
comment on column pai.task_usage_v1.memory_use_of_plan is 'Used over planned main memory, mean of the workers [ratio]; derived.';
comment on column pai.task_usage_v1.cpu_margin_of_capacity is 'Planned less used CPU over the machine''s, mean of the workers; negative: more used than planned [ratio]; derived.';
comment on column pai.task_usage_v1.gpu_margin_of_capacity is 'Planned less used GPU over the machine''s, mean of the workers; NULL where there is no GPU [ratio]; derived.';
comment on column pai.task_usage_v1.memory_margin_of_capacity is 'Planned less used memory over the machine''s, mean of the workers [ratio]; derived.';
