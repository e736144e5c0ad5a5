-- How long do PAI's tasks wait for their first instance, per type of GPU?
-- caveat: pai.gpu_type_is_assigned
-- param: min_gpus: only tasks that request so many GPUs per instance or more
-- range: min_gpus: 0 to 1000
-- chart: bar x=gpu_type y=p90_wait_s
create or replace macro pai.wait_by_gpu_type(min_gpus double := 0.01) as table
select
    gpu_type,
    count(*) as tasks,
    median(wait_s) as median_wait_s,
    quantile_cont(wait_s, 0.9) as p90_wait_s,
    quantile_cont(wait_s, 0.99) as p99_wait_s
from pai.task_wait
where requested_gpus_per_instance >= min_gpus
group by gpu_type
order by gpu_type;

comment on macro table pai.wait_by_gpu_type is 'Interpolated percentiles of the wait from a task''s launch to its first instance''s, per assigned type of GPU.';
