-- What Acme's telemetry holds of each GPU and node on each day, metric by metric.
-- grain: one row per (cluster, source_table, metric, device, day)
-- source: README of AcmeTrace, Resource Utilization
-- caveat: acme.telemetry_units_by_convention: total max_value
-- caveat: acme.device_names_vary: device node gpu
-- caveat: acme.telemetry_covers_part: day first_time last_time
-- stored: parquet per partition by cluster, source_table, metric, node, gpu, day, device
create or replace view acme.telemetry_device_day_v1 as
-- Sums of fractions are dear, so only those are made that days and nodes are compared by.
with listed as (
    select
        cluster,
        'gpu_metric' as source_table,
        metric,
        device,
        node,
        gpu,
        time,
        value,
        case
            when
                metric in (
                    'GPU_UTIL', 'MEM_COPY_UTIL', 'SM_ACTIVE', 'SM_OCCUPANCY', 'PIPE_TENSOR_ACTIVE', 'DRAM_ACTIVE'
                )
                then value
        end as summed
    from acme.gpu_metric
    union all
    select
        cluster,
        'node_metric' as source_table,
        metric,
        device,
        node,
        cast(null as bigint) as gpu,
        time,
        value,
        case when metric in ('NODE_IB_SEND', 'NODE_IB_RECEIVE') then value end as summed
    from acme.node_metric
),

-- By its name alone, of which node and GPU are parts: grouped by all three it takes much longer.
days as (
    select
        cluster,
        source_table,
        metric,
        device,
        case when isfinite(time) then floor((epoch(time) + 28800) / 86400) end as day_number,
        any_value(node) as node,
        any_value(gpu) as gpu,
        min(time) as first_time,
        max(time) as last_time,
        count(*) as cells,
        count(value) as samples,
        count(*) filter (where value = 0) as zero_samples,
        fsum(summed) as total,
        max(value) as max_value
    from listed
    group by cluster, source_table, metric, device, day_number
)

select
    cluster,
    source_table,
    metric,
    device,
    node,
    gpu,
    date '1970-01-01' + cast(day_number as integer) as day,
    first_time,
    last_time,
    cells,
    samples,
    zero_samples,
    total,
    max_value
from days;

comment on column acme.telemetry_device_day_v1.cluster is 'Cluster: seren or kalos; measured.';
comment on column acme.telemetry_device_day_v1.source_table is 'Base table: gpu_metric or node_metric; derived.';
comment on column acme.telemetry_device_day_v1.metric is 'Metric; measured.';
comment on column acme.telemetry_device_day_v1.device is 'Name of the publisher''s column; measured.';
comment on column acme.telemetry_device_day_v1.node is 'IP address of the node; NULL where the name is no address; measured.';
comment on column acme.telemetry_device_day_v1.gpu is 'GPU on its node, from 0; NULL of nodes, and where the publisher names the node only; measured.';
comment on column acme.telemetry_device_day_v1.day is 'Day in UTC+8; NULL of cells whose time cannot be read; derived.';
comment on column acme.telemetry_device_day_v1.first_time is 'First time of the day at which it is listed, with a sample or without; derived.';
comment on column acme.telemetry_device_day_v1.last_time is 'Last such time; derived.';
comment on column acme.telemetry_device_day_v1.cells is 'Cells of the publisher''s table, with a sample or empty; derived.';
comment on column acme.telemetry_device_day_v1.samples is 'Cells with a value; derived.';
comment on column acme.telemetry_device_day_v1.zero_samples is 'Samples that are 0; derived.';
comment on column acme.telemetry_device_day_v1.total is 'Sum of the samples, of GPU utilisation in percent and of InfiniBand in the metric''s unit; NULL of other metrics, and without a sample; derived.';
comment on column acme.telemetry_device_day_v1.max_value is 'Largest sample, in the metric''s unit; derived.';
