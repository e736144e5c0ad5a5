-- How busy are PAI's machines while workers run on them, per type of GPU?
-- caveat: pai.machine_metric_is_host_level
-- caveat: pai.gpu_use_over_100
-- caveat: pai.machine_cpu_is_a_sum
-- chart: bar x=gpu_type y=mean_gpu_pct
create or replace macro pai.machine_use_by_type() as table
-- Which run of a worker counts makes no difference here: pai.worker_machine would have it found out for nothing.
with observed as (
    select
        metric.machine,
        metric.machine_cpu as cpu_pct,
        metric.machine_gpu as gpu_pct,
        metric.machine_load_1 as load,
        metric.end_time - metric.start_time as observed_s
    from pai.machine_metric as metric
    where
        metric.start_time > 0
        and metric.end_time > metric.start_time
        and metric.worker_name in (select instance.worker_name from pai.instance as instance)
)

select
    spec.gpu_type,
    count(*) as workers,
    fsum(observed.cpu_pct * observed.observed_s)
    / fsum(observed.observed_s) filter (where observed.cpu_pct is not null) as mean_cpu_pct,
    fsum(observed.gpu_pct * observed.observed_s)
    / fsum(observed.observed_s) filter (where observed.gpu_pct is not null) as mean_gpu_pct,
    fsum(observed.load * observed.observed_s)
    / fsum(observed.observed_s) filter (where observed.load is not null) as mean_load
from observed
left join pai.machine_spec as spec on observed.machine = spec.machine
group by spec.gpu_type
order by spec.gpu_type;

comment on macro table pai.machine_use_by_type is 'CPU and GPU use and load of the whole machine, per type of its GPUs: means over the workers that saw it, each weighted by the seconds that it ran.';
