-- CPU, GPU and memory that each task planned and that its workers used (PAI).
-- grain: one row per (job_name, task_name) that has a sensor row
-- source: analysis notebook of cluster-trace-gpu-v2020, after figure 6: (plan - usage) / capacity per worker
-- caveat: pai.sensor_covers_two_fifths
-- caveat: pai.gpu_use_over_100: used_gpus gpu_use_of_plan gpu_margin_of_capacity
-- caveat: pai.sensor_is_lifetime_average
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
