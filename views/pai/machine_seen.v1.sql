-- Utilisation of each machine while workers run on it (PAI).
-- grain: one row per machine with an observed worker
-- source: README of cluster-trace-gpu-v2020, pai_machine_metric and pai_machine_spec
-- caveat: pai.gpu_use_over_100: gpu_pct_s
-- caveat: pai.machine_cpu_is_a_sum: cpu_pct_s mean_cpu_pct
-- caveat: pai.misc_is_many_types: gpu_type
-- caveat: pai.sensor_is_lifetime_average: gpu_pct_s cpu_pct_s load_s mean_cpu_pct mean_gpu_pct
-- resolves_caveat: pai.cpu_machines_in_spec
-- resolves_caveat: pai.machine_metric_is_host_level
-- resolves_caveat: pai.worker_name_repeats
-- materialize: parquet by machine
create or replace view pai.machine_seen_v1 as
-- Numbers are faster to sort by than names.
with numbered as (
    select
        machine,
        row_number() over (order by machine) as machine_number
    from pai.machine_metric
    group by machine
),

-- It makes no difference here which run of a worker counts, so this does not read pai.worker_machine.
observed as (
    select
        numbered.machine_number,
        metric.machine_cpu as cpu_pct,
        metric.machine_gpu as gpu_pct,
        metric.machine_load_1 as load,
        metric.start_time as start_s,
        metric.end_time as end_s
    from pai.machine_metric as metric
    inner join numbered on metric.machine is not distinct from numbered.machine
    where
        metric.start_time > 0
        and metric.end_time > metric.start_time
        and metric.worker_name in (select instance.worker_name from pai.instance as instance)
),

-- The number of workers on a machine changes when one of them starts or ends. Doubles add whole numbers without error,
-- and windows add them faster than integers.
changes as (
    select
        machine_number,
        start_s as at_s,
        cast(1 as double) as change,
        cpu_pct,
        gpu_pct,
        load
    from observed
    union all
    select
        machine_number,
        end_s as at_s,
        cast(-1 as double) as change,
        cpu_pct,
        gpu_pct,
        load
    from observed
),

-- Of several changes at the same time, only the last is followed by a stretch; its sum includes all of them.
stretches as (
    select
        *,
        lead(at_s) over (partition by machine_number order by at_s) - at_s as lasted_s,
        sum(change) over (
            partition by machine_number
            order by at_s rows between unbounded preceding and current row
        ) as workers
    from changes
),

-- Workers that run at the same time on a machine share each second equally, so that a machine's weights sum to its
-- time. A clock adds up these shares; a worker's weight is the difference between its end and its start.
clocks as (
    select
        machine_number,
        change,
        cpu_pct,
        gpu_pct,
        load,
        sum(stats.exact(lasted_s / nullif(workers, 0))) over (
            partition by machine_number
            order by at_s, lasted_s rows between unbounded preceding and 1 preceding
        ) as clock_s
    from stretches
),

-- Subtracts the clock at a start and adds it at an end, so that starts need not be joined with ends.
weighed as (
    select
        machine_number,
        change,
        cpu_pct,
        gpu_pct,
        load,
        -change * cast(coalesce(clock_s, 0) as double) as weight_s
    from clocks
),

machines as (
    select
        machine_number,
        count(*) filter (where change = 1) as workers,
        stats.fsum(weight_s) as seen_s,
        stats.fsum(cpu_pct * weight_s) as cpu_pct_s,
        stats.fsum(case when cpu_pct is not null then weight_s end) as cpu_seen_s,
        stats.fsum(gpu_pct * weight_s) as gpu_pct_s,
        stats.fsum(case when gpu_pct is not null then weight_s end) as gpu_seen_s,
        stats.fsum(load * weight_s) as load_s,
        stats.fsum(case when load is not null then weight_s end) as load_seen_s
    from weighed
    group by machine_number
)

select
    numbered.machine,
    spec.gpu_type,
    spec.cap_gpu as machine_gpus,
    machines.workers,
    machines.seen_s,
    machines.cpu_pct_s,
    machines.cpu_seen_s,
    machines.gpu_pct_s,
    machines.gpu_seen_s,
    machines.load_s,
    machines.load_seen_s,
    machines.cpu_pct_s / nullif(machines.cpu_seen_s, 0) as mean_cpu_pct,
    machines.gpu_pct_s / nullif(spec.cap_gpu * machines.gpu_seen_s, 0) as mean_gpu_pct
from machines
inner join numbered on machines.machine_number = numbered.machine_number
left join pai.machine_spec as spec on numbered.machine = spec.machine;

comment on column pai.machine_seen_v1.gpu_type is 'Type of the machine''s GPUs, CPU for machines without one; NULL if the machine is not in machine_spec; measured.';
comment on column pai.machine_seen_v1.machine_gpus is 'GPUs of the machine; NULL if it is not in machine_spec; measured.';
comment on column pai.machine_seen_v1.workers is 'Observed workers: those with a start, an end after it, and an instance; derived.';
comment on column pai.machine_seen_v1.seen_s is 'Seconds in which at least one observed worker ran; derived.';
comment on column pai.machine_seen_v1.cpu_pct_s is 'CPU use in percent of all cores of the machine, added up over the seconds seen, each split equally among the workers running; derived.';
comment on column pai.machine_seen_v1.cpu_seen_s is 'Seconds seen whose CPU use is known; derived.';
comment on column pai.machine_seen_v1.gpu_pct_s is 'Use of all GPUs of the machine in percent of one, added up in the same way; derived.';
comment on column pai.machine_seen_v1.gpu_seen_s is 'Seconds seen whose GPU use is known; derived.';
comment on column pai.machine_seen_v1.load_s is 'Load over one minute, added up in the same way; derived.';
comment on column pai.machine_seen_v1.load_seen_s is 'Seconds seen whose load is known; derived.';
comment on column pai.machine_seen_v1.mean_cpu_pct is 'CPU use in percent of all cores of the machine, mean over the seconds seen; derived.';
comment on column pai.machine_seen_v1.mean_gpu_pct is 'Use of one of the machine''s GPUs in percent, mean over the seconds seen; NULL without GPUs; derived.';
