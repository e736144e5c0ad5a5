-- CPU, GPU, main memory and GPU memory that each worker planned and used (PAI).
-- grain: one row per worker_name that has a sensor row
-- source: README of cluster-trace-gpu-v2020, pai_sensor_table; margins as in its analysis notebook, after figure 6
-- answers: GPU utilisation, CPU utilisation, memory use
-- caveat: pai.cpu_use_over_request: requested_cpus used_cpus cpu_use_of_plan cpu_margin_of_capacity
-- caveat: pai.gpu_counts_are_fractions: requested_gpus
-- caveat: pai.gpu_memory_over_device: max_gpu_memory_gb
-- caveat: pai.gpu_name_is_device: gpu_name
-- caveat: pai.gpu_type_is_assigned: gpu_type
-- caveat: pai.gpu_type_null: gpu_type
-- caveat: pai.gpu_use_over_100: used_gpus gpu_use_of_plan gpu_margin_of_capacity
-- caveat: pai.memory_gb_looks_binary: requested_memory_gb used_memory_gb max_memory_gb used_gpu_memory_gb max_gpu_memory_gb
-- caveat: pai.misc_is_many_types: gpu_type
-- caveat: pai.plan_gpu_null_is_cpu_task: requested_gpus
-- caveat: pai.sensor_covers_two_fifths
-- caveat: pai.sensor_is_lifetime_average
-- resolves_caveat: pai.cpu_machines_in_spec
-- resolves_caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: pai.use_is_absolute
-- resolves_caveat: pai.worker_name_repeats
create or replace view pai.worker_usage_v1 as
select
    worker.worker_name,
    worker.job_name,
    worker.task_name,
    sensor.machine,
    sensor.gpu_name,
    worker.status,
    task.gpu_type,
    worker.run_s,
    task.plan_cpu / 100.0 as requested_cpus,
    sensor.cpu_usage / 100.0 as used_cpus,
    sensor.cpu_usage / nullif(task.plan_cpu, 0) as cpu_use_of_plan,
    (task.plan_cpu - sensor.cpu_usage) / nullif(100 * spec.cap_cpu, 0) as cpu_margin_of_capacity,
    task.plan_gpu / 100.0 as requested_gpus,
    sensor.gpu_wrk_util / 100.0 as used_gpus,
    sensor.gpu_wrk_util / nullif(task.plan_gpu, 0) as gpu_use_of_plan,
    (task.plan_gpu - sensor.gpu_wrk_util) / nullif(100 * spec.cap_gpu, 0) as gpu_margin_of_capacity,
    task.plan_mem as requested_memory_gb,
    sensor.avg_mem as used_memory_gb,
    sensor.max_mem as max_memory_gb,
    sensor.avg_mem / nullif(task.plan_mem, 0) as memory_use_of_plan,
    (task.plan_mem - sensor.avg_mem) / nullif(spec.cap_mem, 0) as memory_margin_of_capacity,
    sensor.avg_gpu_wrk_mem as used_gpu_memory_gb,
    sensor.max_gpu_wrk_mem as max_gpu_memory_gb,
    spec.machine is not null as is_machine_specified
from pai.worker_v1 as worker
inner join pai.sensor as sensor on worker.worker_name = sensor.worker_name
-- The plan is from the worker's own task. Workers without a task or a known machine are rows, too.
left join pai.task as task
    on worker.job_name = task.job_name and worker.task_name = task.task_name
left join pai.machine_spec as spec on sensor.machine = spec.machine;

comment on column pai.worker_usage_v1.machine is 'Machine, as recorded by its sensors; measured.';
comment on column pai.worker_usage_v1.requested_cpus is 'CPU cores planned per instance of the task; derived.';
comment on column pai.worker_usage_v1.used_cpus is 'CPU cores used, mean over the worker''s life; derived.';
comment on column pai.worker_usage_v1.cpu_use_of_plan is 'Used over planned CPU; above 1: more used than planned [ratio]; derived.';
comment on column pai.worker_usage_v1.cpu_margin_of_capacity is 'Planned less used CPU over the machine''s; negative: more used than planned [ratio]; derived.';
comment on column pai.worker_usage_v1.requested_gpus is 'GPUs planned per instance of the task, fractions included; NULL for tasks without a GPU; derived.';
comment on column pai.worker_usage_v1.used_gpus is 'GPUs used, mean over the worker''s life, summed over its GPUs; derived.';
comment on column pai.worker_usage_v1.gpu_use_of_plan is 'Used over planned GPU; NULL where none was planned [ratio]; derived.';
comment on column pai.worker_usage_v1.gpu_margin_of_capacity is 'Planned less used GPU over the machine''s; NULL where there is no GPU [ratio]; derived.';
comment on column pai.worker_usage_v1.memory_use_of_plan is 'Used over planned main memory, mean over the worker''s life [ratio]; derived.';
comment on column pai.worker_usage_v1.memory_margin_of_capacity is 'Planned less used main memory over the machine''s [ratio]; derived.';
comment on column pai.worker_usage_v1.is_machine_specified is 'Whether pai.machine_spec has the machine; margins are NULL if not; derived.';
