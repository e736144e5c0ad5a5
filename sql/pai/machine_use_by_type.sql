-- How busy are PAI's machines while workers run on them, per type of GPU?
-- caveat: pai.machine_metric_is_host_level
-- caveat: pai.sensor_is_lifetime_average
-- caveat: pai.gpu_use_over_100
-- caveat: pai.machine_cpu_is_a_sum
-- chart: bar x=gpu_type y=mean_gpu_pct
-- column: workers: Workers that the machines were seen by
create or replace macro pai.machine_use_by_type() as table
-- Which run of a worker counts makes no difference here: pai.worker_machine would have it found out for nothing.
with observed as (
    select
        metric.machine,
        metric.machine_cpu as cpu_pct,
        metric.machine_gpu as gpu_pct,
        metric.machine_load_1 as load,
        metric.start_time as start_s,
        metric.end_time as end_s
    from pai.machine_metric as metric
    where
        metric.start_time > 0
        and metric.end_time > metric.start_time
        and metric.worker_name in (select instance.worker_name from pai.instance as instance)
),

-- The workers on a machine change where one of them starts or ends.
changes as (
    select
        machine,
        start_s as at_s,
        1 as change
    from observed
    union all
    select
        machine,
        end_s as at_s,
        -1 as change
    from observed
),

times as (
    select
        machine,
        at_s,
        sum(change) as change
    from changes
    group by machine, at_s
),

stretches as (
    select
        machine,
        at_s,
        lead(at_s) over (partition by machine order by at_s) - at_s as lasted_s,
        sum(change) over (
            partition by machine
            order by at_s rows between unbounded preceding and current row
        ) as workers
    from times
),

-- A second of a machine is one second, however many workers saw it: each of them has an equal part of it.
parts as (
    select
        machine,
        at_s,
        lasted_s / nullif(workers, 0) as part_s
    from stretches
),

sums as (
    select
        machine,
        at_s,
        fsum(part_s) over (
            partition by machine
            order by at_s rows between unbounded preceding and 1 preceding
        ) as parts_s
    from parts
),

weighed as (
    select
        observed.machine,
        observed.cpu_pct,
        observed.gpu_pct,
        observed.load,
        cast(until.parts_s - coalesce(since.parts_s, 0) as double) as weight_s
    from observed
    inner join sums as since on observed.machine = since.machine and observed.start_s = since.at_s
    inner join sums as until on observed.machine = until.machine and observed.end_s = until.at_s
)

select
    spec.gpu_type,
    count(distinct weighed.machine) as machines,
    count(*) as workers,
    fsum(weighed.weight_s) / 3600 as observed_machine_h,
    fsum(weighed.cpu_pct * weighed.weight_s)
    / nullif(fsum(weighed.weight_s) filter (where weighed.cpu_pct is not null), 0) as mean_cpu_pct,
    fsum(weighed.gpu_pct * weighed.weight_s) filter (where spec.cap_gpu > 0)
    / nullif(fsum(spec.cap_gpu * weighed.weight_s) filter (where weighed.gpu_pct is not null), 0)
        as mean_gpu_pct,
    fsum(weighed.load * weighed.weight_s)
    / nullif(fsum(weighed.weight_s) filter (where weighed.load is not null), 0) as mean_load
from weighed
left join pai.machine_spec as spec on weighed.machine = spec.machine
group by spec.gpu_type
order by spec.gpu_type;

comment on macro table pai.machine_use_by_type is 'Use of the whole machine while workers run on it, per type of its GPUs: the machines and workers it was seen by, the machine-hours seen, the mean CPU use of a machine, the mean use of one of its GPUs and the mean load of a machine. Metrics are means over the life of each worker, and lives on one machine overlap: a second of a machine counts once, in equal parts for the workers that ran on it then. What a machine does without such a worker is not seen. A type without GPUs, or of machines that machine_spec lacks, has no use of GPUs. Left out are workers without a start, without an end after it, or without an instance.';
