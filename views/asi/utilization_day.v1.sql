-- Ready GPU pods by day, kind of job and use, in steps of three significant digits (ASI).
-- grain: one row per (day, job_type, measure, value)
-- source: scripts of cluster-trace-gpu-v2026
-- caveat: asi.negative_memory_use: value
-- caveat: asi.types_are_unknown: job_type
-- resolves_caveat: asi.pods_without_gpu
-- materialize: parquet per partition
create or replace view asi.utilization_day_v1 as
with pods as (
    select
        day,
        job_type,
        gpu_pct,
        cpu_pct,
        memory_pct,
        gpu_memory_gib
    from asi.pod_hour_v1
    where requested_gpus > 0 and is_ready
),

measured as (
    select
        pods.day,
        pods.job_type,
        measures.measure,
        case measures.measure
            when 'gpu_pct' then pods.gpu_pct
            when 'cpu_pct' then pods.cpu_pct
            when 'memory_pct' then pods.memory_pct
            else pods.gpu_memory_gib
        end as used
    from pods
    cross join (
        values ('gpu_pct'), ('cpu_pct'), ('memory_pct'), ('gpu_memory_gib')
    ) as measures (measure)
),

-- Three significant digits of a value below 100 are a multiple of 0.1, 0.01 and so on.
scaled as (
    select
        day,
        job_type,
        measure,
        used,
        case
            when used = 0 then 1
            else pow(10, greatest(2 - floor(log10(abs(used))), 0))
        end as steps_per_unit
    from measured
    where used is not null
),

-- Rounding up keeps distributions exact: as many pods as before use at most each of the values that are left.
rounded as (
    select
        day,
        job_type,
        measure,
        case
            when floor(used * steps_per_unit) / steps_per_unit >= used
                then floor(used * steps_per_unit) / steps_per_unit
            else (floor(used * steps_per_unit) + 1) / steps_per_unit
        end as value
    from scaled
)

select
    day,
    job_type,
    measure,
    value,
    count(*) as pod_hours
from rounded
group by day, job_type, measure, value;

comment on column asi.utilization_day_v1.measure is 'Measure of use: gpu_pct, cpu_pct, memory_pct or gpu_memory_gib, columns of asi.pod_hour; derived.';
comment on column asi.utilization_day_v1.value is 'Use of the pods in an hour, in the unit of the measure, rounded up to three significant digits and, above 100, to whole numbers [no unit]; derived.';
comment on column asi.utilization_day_v1.pod_hours is 'Ready GPU pods with this use, counted in each hour [pod-hours]; derived.';
