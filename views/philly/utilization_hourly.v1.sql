-- Hourly utilisation of GPUs, processors and memory, per machine (Philly).
-- grain: one row per (machine_id, hour) for which a file of use has a line, if only of NA
-- source: README of msr-fiddle/philly-traces; its notebook for the memory in use
-- answers: GPU utilisation, CPU utilisation, memory use
-- caveat: philly.lines_are_glued
-- caveat: philly.use_is_averaged: mean_gpu_pct idle_gpu_pct
-- resolves_caveat: philly.memory_unit_not_written
-- resolves_caveat: philly.na_is_offline
-- materialize: parquet by machine_id, hour
create or replace view philly.utilization_hourly_v1 as
with gpus as (
    select
        machine_id,
        epoch_us(time) // 3600000000 as hour_number,
        count(gpu0_util) + count(gpu1_util) + count(gpu2_util) + count(gpu3_util)
        + count(gpu4_util) + count(gpu5_util) + count(gpu6_util) + count(gpu7_util) as gpu_minutes,
        coalesce(stats.fsum(gpu0_util), 0) + coalesce(stats.fsum(gpu1_util), 0)
        + coalesce(stats.fsum(gpu2_util), 0) + coalesce(stats.fsum(gpu3_util), 0)
        + coalesce(stats.fsum(gpu4_util), 0) + coalesce(stats.fsum(gpu5_util), 0)
        + coalesce(stats.fsum(gpu6_util), 0) + coalesce(stats.fsum(gpu7_util), 0) as total_pct,
        count(*) filter (where gpu0_util = 0) + count(*) filter (where gpu1_util = 0)
        + count(*) filter (where gpu2_util = 0) + count(*) filter (where gpu3_util = 0)
        + count(*) filter (where gpu4_util = 0) + count(*) filter (where gpu5_util = 0)
        + count(*) filter (where gpu6_util = 0) + count(*) filter (where gpu7_util = 0) as idle_gpu_minutes
    from philly.gpu_util
    group by all
),

cpus as (
    select
        machine_id,
        epoch_us(time) // 3600000000 as hour_number,
        stats.favg(cpu_util) as mean_cpu_pct
    from philly.cpu_util
    group by all
),

-- As in the notebook, minutes with a total memory of 0 do not count.
memories as (
    select
        machine_id,
        epoch_us(time) // 3600000000 as hour_number,
        stats.favg(100.0 * (mem_total - mem_free) / nullif(mem_total, 0)) as mean_memory_pct
    from philly.mem_util
    group by all
),

hours as (
    select
        machine_id,
        hour_number
    from gpus
    union
    select
        machine_id,
        hour_number
    from cpus
    union
    select
        machine_id,
        hour_number
    from memories
)

select
    hours.machine_id,
    to_timestamp(3600 * hours.hour_number) as hour,
    coalesce(gpus.gpu_minutes, 0) as gpu_minutes,
    gpus.total_pct / nullif(gpus.gpu_minutes, 0) as mean_gpu_pct,
    100.0 * gpus.idle_gpu_minutes / nullif(gpus.gpu_minutes, 0) as idle_gpu_pct,
    cpus.mean_cpu_pct,
    memories.mean_memory_pct
from hours
left join gpus on hours.machine_id = gpus.machine_id and hours.hour_number = gpus.hour_number
left join cpus on hours.machine_id = cpus.machine_id and hours.hour_number = cpus.hour_number
left join memories on hours.machine_id = memories.machine_id and hours.hour_number = memories.hour_number;

comment on column philly.utilization_hourly_v1.machine_id is 'Machine; measured.';
comment on column philly.utilization_hourly_v1.hour is 'Start of the hour; derived.';
comment on column philly.utilization_hourly_v1.gpu_minutes is 'GPU-minutes with a measured use; derived.';
comment on column philly.utilization_hourly_v1.mean_gpu_pct is 'Mean use over these minutes; NULL if there are none; derived.';
comment on column philly.utilization_hourly_v1.idle_gpu_pct is 'Share of these minutes whose use is 0; derived.';
comment on column philly.utilization_hourly_v1.mean_cpu_pct is 'Mean use of the processors; derived.';
comment on column philly.utilization_hourly_v1.mean_memory_pct is 'Mean of the memory in use; derived.';
