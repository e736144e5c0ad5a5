-- Utilisation of machines while workers run on them, by GPU type (PAI).
-- grain: one row per GPU type of the machines
-- source: README of cluster-trace-gpu-v2020, pai_machine_metric and pai_machine_spec
-- caveat: pai.machine_metric_is_host_level
-- caveat: pai.sensor_is_lifetime_average: mean_cpu_pct mean_gpu_pct mean_load
-- caveat: pai.gpu_use_over_100: mean_gpu_pct
-- caveat: pai.machine_cpu_is_a_sum: mean_cpu_pct
-- materialize: parquet by gpu_type
create or replace view pai.machine_use_v1 as
-- It makes no difference here which run of a worker counts, so this does not read pai.worker_machine.
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

-- The number of workers on a machine changes when one of them starts or ends.
changes as (
    select
        machine,
        start_s as at_s,
        1 as change,
        cpu_pct,
        gpu_pct,
        load
    from observed
    union all
    select
        machine,
        end_s as at_s,
        -1 as change,
        cpu_pct,
        gpu_pct,
        load
    from observed
),

-- Of several changes at the same time, only the last is followed by a stretch; its sum includes all of them.
stretches as (
    select
        machine,
        at_s,
        change,
        cpu_pct,
        gpu_pct,
        load,
        lead(at_s) over (partition by machine order by at_s) - at_s as lasted_s,
        sum(change) over (
            partition by machine
            order by at_s rows between unbounded preceding and current row
        ) as workers
    from changes
),

-- Workers that run at the same time on a machine share each second equally, so that a machine's weights sum to its
-- time. A clock adds up these shares; a worker's weight is the difference between its end and its start.
clocks as (
    select
        machine,
        change,
        cpu_pct,
        gpu_pct,
        load,
        sum(stats.exact(lasted_s / nullif(workers, 0))) over (
            partition by machine
            order by at_s, lasted_s rows between unbounded preceding and 1 preceding
        ) as clock_s
    from stretches
),

-- Subtracts the clock at a start and adds it at an end, so that starts need not be joined with ends.
weighed as (
    select
        machine,
        change,
        cpu_pct,
        gpu_pct,
        load,
        -change * cast(coalesce(clock_s, 0) as double) as weight_s
    from clocks
),

machines as (
    select
        machine,
        count(*) filter (where change = 1) as workers,
        stats.fsum(weight_s) as seen_s,
        stats.fsum(cpu_pct * weight_s) as cpu_pct_s,
        stats.fsum(case when cpu_pct is not null then weight_s end) as cpu_seen_s,
        stats.fsum(gpu_pct * weight_s) as gpu_pct_s,
        stats.fsum(case when gpu_pct is not null then weight_s end) as gpu_seen_s,
        stats.fsum(load * weight_s) as load_s,
        stats.fsum(case when load is not null then weight_s end) as load_seen_s
    from weighed
    group by machine
)

select
    spec.gpu_type,
    count(*) as machines,
    cast(sum(machines.workers) as bigint) as workers,
    stats.fsum(machines.seen_s) / 3600 as observed_machine_h,
    stats.fsum(machines.cpu_pct_s) / nullif(stats.fsum(machines.cpu_seen_s), 0) as mean_cpu_pct,
    stats.fsum(case when spec.cap_gpu > 0 then machines.gpu_pct_s end)
    / nullif(stats.fsum(spec.cap_gpu * machines.gpu_seen_s), 0) as mean_gpu_pct,
    stats.fsum(machines.load_s) / nullif(stats.fsum(machines.load_seen_s), 0) as mean_load
from machines
left join pai.machine_spec as spec on machines.machine = spec.machine
group by spec.gpu_type;

comment on column pai.machine_use_v1.gpu_type is 'Type of the machine''s GPUs, CPU for machines without one; NULL for machines that are not in machine_spec; measured.';
comment on column pai.machine_use_v1.machines is 'Machines with an observed worker; derived.';
comment on column pai.machine_use_v1.workers is 'Observed workers: those with a start, an end after it, and an instance; derived.';
comment on column pai.machine_use_v1.observed_machine_h is 'Observed machine-hours: a second counts once, no matter how many workers ran on the machine; derived.';
comment on column pai.machine_use_v1.mean_cpu_pct is 'CPU use of a machine in percent of a core, mean over the observed time; derived.';
comment on column pai.machine_use_v1.mean_gpu_pct is 'Use of one of a machine''s GPUs in percent, mean over the observed time; NULL without GPUs; derived.';
comment on column pai.machine_use_v1.mean_load is 'Load of a machine over one minute, mean over the observed time; derived.';
