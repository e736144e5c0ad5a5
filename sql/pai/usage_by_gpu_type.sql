-- How much of their plan do PAI's workers use, per type of GPU?
-- caveat: pai.gpu_type_is_assigned
-- chart: bar x=gpu_type y=median_gpu_use_of_plan
-- column: workers: Workers that sensors saw
create or replace macro pai.usage_by_gpu_type() as table
select
    gpu_type,
    count(*) as workers,
    median(cpu_use_of_plan) as median_cpu_use_of_plan,
    median(gpu_use_of_plan) as median_gpu_use_of_plan,
    median(memory_use_of_plan) as median_memory_use_of_plan,
    quantile_cont(gpu_use_of_plan, 0.9) as p90_gpu_use_of_plan
from pai.worker_usage
group by gpu_type
order by gpu_type;

comment on macro table pai.usage_by_gpu_type is 'Used over planned CPU, GPU and memory of the workers that sensors saw, per type of GPU that their task was assigned: interpolated percentiles, 1 where all that was planned is used.';
