-- CPU, GPU and memory that each task planned and that its workers used (PAI).
-- grain: one row per (job_name, task_name) that has a sensor row
-- source: analysis notebook of cluster-trace-gpu-v2020, after figure 6: (plan - usage) / capacity per worker
-- caveat: pai.cpu_use_over_request: used_cpus cpu_use_of_plan cpu_margin_of_capacity
-- caveat: pai.gpu_counts_are_fractions: requested_gpus
-- caveat: pai.gpu_type_is_assigned: gpu_type
-- caveat: pai.gpu_type_null: gpu_type
-- caveat: pai.gpu_use_over_100: used_gpus gpu_use_of_plan gpu_margin_of_capacity
-- caveat: pai.memory_gb_looks_binary: requested_memory_gb used_memory_gb
-- caveat: pai.misc_is_many_types: gpu_type
-- caveat: pai.plan_gpu_null_is_cpu_task: requested_gpus
-- caveat: pai.plan_is_per_instance: requested_cpus requested_gpus requested_memory_gb
-- caveat: pai.sensor_covers_two_fifths
-- caveat: pai.sensor_is_lifetime_average
-- resolves_caveat: pai.cpu_machines_in_spec
-- resolves_caveat: pai.use_is_absolute
-- materialize: parquet unsorted
-- Differs from version 1 in the last digits only: its sums are exact, and so the same on every run.
create or replace view pai.task_usage_v2 as
with worker as (
    select
        sensor.job_name,
        sensor.task_name,
        task.gpu_type,
        task.plan_cpu,
        task.plan_gpu,
        task.plan_mem,
        sensor.cpu_usage,
        sensor.gpu_wrk_util,
        sensor.avg_mem,
        (task.plan_cpu - sensor.cpu_usage) / nullif(100 * spec.cap_cpu, 0) as cpu_margin,
        (task.plan_gpu - sensor.gpu_wrk_util) / nullif(100 * spec.cap_gpu, 0) as gpu_margin,
        (task.plan_mem - sensor.avg_mem) / nullif(spec.cap_mem, 0) as memory_margin
    from pai.sensor as sensor
    inner join pai.task as task
        on sensor.job_name = task.job_name and sensor.task_name = task.task_name
    left join pai.machine_spec as spec on sensor.machine = spec.machine
)

select
    job_name,
    task_name,
    gpu_type,
    count(*) as workers,
    plan_cpu / 100.0 as requested_cpus,
    stats.favg(cpu_usage) / 100.0 as used_cpus,
    plan_gpu / 100.0 as requested_gpus,
    stats.favg(gpu_wrk_util) / 100.0 as used_gpus,
    plan_mem as requested_memory_gb,
    stats.favg(avg_mem) as used_memory_gb,
    stats.favg(cpu_usage) / nullif(plan_cpu, 0) as cpu_use_of_plan,
    stats.favg(gpu_wrk_util) / nullif(plan_gpu, 0) as gpu_use_of_plan,
    stats.favg(avg_mem) / nullif(plan_mem, 0) as memory_use_of_plan,
    stats.favg(cpu_margin) as cpu_margin_of_capacity,
    stats.favg(gpu_margin) as gpu_margin_of_capacity,
    stats.favg(memory_margin) as memory_margin_of_capacity
from worker
group by job_name, task_name, gpu_type, plan_cpu, plan_gpu, plan_mem;
