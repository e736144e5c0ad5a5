-- Utilisation of machines while workers run on them, by GPU type (PAI).
-- grain: one row per GPU type of the machines
-- source: README of cluster-trace-gpu-v2020, pai_machine_metric and pai_machine_spec
create or replace view pai.machine_use_v1 as
select
    gpu_type,
    count(*) as machines,
    cast(sum(workers) as bigint) as workers,
    stats.fsum(seen_s) / 3600 as observed_machine_h,
    stats.fsum(cpu_pct_s) / nullif(stats.fsum(cpu_seen_s), 0) as mean_cpu_pct,
    stats.fsum(case when machine_gpus > 0 then gpu_pct_s end)
    / nullif(stats.fsum(machine_gpus * gpu_seen_s), 0) as mean_gpu_pct,
    stats.fsum(load_s) / nullif(stats.fsum(load_seen_s), 0) as mean_load
from pai.machine_seen_v1
group by gpu_type;

comment on column pai.machine_use_v1.gpu_type is 'Type of the machine''s GPUs, CPU for machines without one; NULL for machines that are not in machine_spec; measured.';
comment on column pai.machine_use_v1.machines is 'Machines with an observed worker; derived.';
comment on column pai.machine_use_v1.workers is 'Observed workers: those with a start, an end after it, and an instance; derived.';
comment on column pai.machine_use_v1.observed_machine_h is 'Observed machine-hours: a second counts once, no matter how many workers ran on the machine; derived.';
comment on column pai.machine_use_v1.mean_cpu_pct is 'CPU use of a machine in percent of all its cores, mean over the observed time; derived.';
comment on column pai.machine_use_v1.mean_gpu_pct is 'Use of one of a machine''s GPUs in percent, mean over the observed time; NULL without GPUs; derived.';
comment on column pai.machine_use_v1.mean_load is 'Load of a machine over one minute, mean over the observed time [ratio]; derived.';
