-- How busy are PAI's machines while workers run on them, per type of GPU?
-- chart: bar x=gpu_type y=mean_gpu_pct
create or replace macro pai.machine_use_by_type() as table
select
    gpu_type,
    count(*) as workers,
    sum(machine_cpu_pct * observed_s)
    / sum(observed_s) filter (where machine_cpu_pct is not null) as mean_cpu_pct,
    sum(machine_gpu_pct * observed_s)
    / sum(observed_s) filter (where machine_gpu_pct is not null) as mean_gpu_pct,
    sum(machine_load * observed_s)
    / sum(observed_s) filter (where machine_load is not null) as mean_load
from pai.worker_machine
where observed_s > 0
group by gpu_type
order by gpu_type;

comment on macro table pai.machine_use_by_type is 'CPU and GPU use and load of the whole machine, per type of its GPUs: means over the workers that saw it, each weighted by the seconds that it ran.';
