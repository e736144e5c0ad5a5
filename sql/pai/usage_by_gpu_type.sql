-- Used share of requested resources by GPU type (PAI workers)
-- caveat: pai.gpu_type_is_assigned
-- resolves_caveat: pai.gpu_type_null
-- resolves_caveat: pai.gpu_use_over_100
-- resolves_caveat: pai.memory_gb_looks_binary
-- resolves_caveat: pai.use_is_absolute
-- chart: bar x=gpu_type y=median_gpu_use_of_plan yname=median_used_share_of_requested_GPUs title=Used share of requested GPUs by GPU type (PAI workers)
-- column: workers: Workers with sensor data
-- column: median_cpu_use_of_plan [ratio]: Median used divided by requested CPU
-- column: gpu_use_of_plan [ratio]: Used divided by requested GPU
-- column: median_memory_use_of_plan [ratio]: Median used divided by requested memory
create or replace macro pai.usage_by_gpu_type() as table
with shares as (
    select
        gpu_type,
        cpu_pct / nullif(plan_cpu_pct, 0) as cpu_use_of_plan,
        gpu_pct / nullif(plan_gpu_pct, 0) as gpu_use_of_plan,
        memory_gb / nullif(plan_memory_gb, 0) as memory_use_of_plan
    from pai.sensed_worker
)

select
    gpu_type,
    count(*) as workers,
    median(cpu_use_of_plan) as median_cpu_use_of_plan,
    stats.percentiles(gpu_use_of_plan).median as median_gpu_use_of_plan,
    stats.percentiles(gpu_use_of_plan).p75 as p75_gpu_use_of_plan,
    stats.percentiles(gpu_use_of_plan).p90 as p90_gpu_use_of_plan,
    stats.percentiles(gpu_use_of_plan).p95 as p95_gpu_use_of_plan,
    stats.percentiles(gpu_use_of_plan).p99 as p99_gpu_use_of_plan,
    median(memory_use_of_plan) as median_memory_use_of_plan
from shares
group by gpu_type
order by gpu_type;

comment on macro table pai.usage_by_gpu_type is 'Interpolated percentiles of used divided by requested CPU, GPU and memory of the workers with sensor data, per GPU type assigned to their task; 1 means that all of the request is used.';
