-- Hourly utilisation of GPUs, GPU memory and node processors (Acme).
-- grain: one row per (cluster, metric, hour) in which a GPU or node was listed
-- source: README of AcmeTrace, Resource Utilization; data/generate_utilization_pkl.ipynb for the units
-- answers: GPU utilisation
-- caveat: acme.dram_active_one_row
-- caveat: acme.kalos_host_cpu_over_100: mean_pct max_pct
-- caveat: acme.telemetry_covers_part: hour
-- caveat: acme.telemetry_units_by_convention: devices samples empty_samples mean_pct max_pct zero_pct
-- resolves_caveat: acme.job_zones_differ
-- materialize: parquet per partition by cluster, metric, hour
-- Differs from version 1 in the last digits only: its sums are exact, and so the same on every run.
create or replace view acme.utilization_hourly_v2 as
with cells as (
    select
        cluster,
        metric,
        node,
        gpu,
        epoch_us(time) // 3600000000 as hour_number,
        value
    from acme.gpu_metric
    where
        metric in (
            'GPU_UTIL', 'MEM_COPY_UTIL', 'SM_ACTIVE', 'SM_OCCUPANCY', 'PIPE_TENSOR_ACTIVE', 'DRAM_ACTIVE'
        )
        and node is not null
    union all
    select
        cluster,
        metric,
        node,
        cast(null as bigint) as gpu,
        epoch_us(time) // 3600000000 as hour_number,
        value
    from acme.node_metric
    where metric in ('NODE_CPU_UTILIZATION', 'NODE_MEMORY_UTILIZATION') and node is not null
),

-- Groups by device and hour first, so that few rows remain for counting devices.
device_hours as (
    select
        cluster,
        metric,
        node,
        gpu,
        hour_number,
        count(*) as listed,
        count(value) as samples,
        stats.fsum(value) as total,
        max(value) as largest,
        count(*) filter (where value = 0) as zeros
    from cells
    group by cluster, metric, node, gpu, hour_number
),

hours as (
    select
        cluster,
        metric,
        hour_number,
        count(*) filter (where samples > 0) as devices,
        sum(samples) as samples,
        sum(listed) as listed,
        stats.fsum(total) as total,
        max(largest) as largest,
        sum(zeros) as zeros
    from device_hours
    group by cluster, metric, hour_number
)

select
    cluster,
    metric,
    -- Not date_trunc: in a session whose time zone has an offset of half an hour, its hours would differ.
    to_timestamp(3600 * hour_number) as hour,
    devices,
    cast(samples as bigint) as samples,
    cast(listed - samples as bigint) as empty_samples,
    total / nullif(samples, 0) as mean_pct,
    largest as max_pct,
    100.0 * zeros / nullif(samples, 0) as zero_pct
from hours;
