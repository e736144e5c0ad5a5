-- Daily totals of Acme's GPUs and nodes, in the metrics that compare days and nodes.
-- grain: one row per (cluster, metric, node, gpu, day) in which the GPU or node was listed; metrics of GPU utilisation and of InfiniBand
-- source: README of AcmeTrace, Resource Utilization
-- caveat: acme.dram_active_one_row
-- caveat: acme.telemetry_covers_part: day first_time last_time
-- caveat: acme.telemetry_units_by_convention: total max_value
-- resolves_caveat: acme.job_zones_differ
-- materialize: parquet per partition
create or replace view acme.device_daily_v1 as
with listed as (
    select
        cluster,
        metric,
        node,
        gpu,
        time,
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
        time,
        value
    from acme.node_metric
    where metric in ('NODE_IB_SEND', 'NODE_IB_RECEIVE') and node is not null
),

days as (
    select
        cluster,
        metric,
        node,
        gpu,
        case when isfinite(time) then floor((epoch(time) + 28800) / 86400) end as day_number,
        min(time) as first_time,
        max(time) as last_time,
        count(*) as cells,
        count(value) as samples,
        count(*) filter (where value = 0) as zero_samples,
        stats.fsum(value) as total,
        max(value) as max_value
    from listed
    group by cluster, metric, node, gpu, day_number
)

select
    cluster,
    metric,
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

comment on column acme.device_daily_v1.cluster is 'Cluster: seren or kalos; measured.';
comment on column acme.device_daily_v1.metric is 'Metric of GPU utilisation or, where it begins with NODE, of a node''s InfiniBand; measured.';
comment on column acme.device_daily_v1.node is 'IP address of the node; measured.';
comment on column acme.device_daily_v1.gpu is 'GPU on its node, from 0; NULL for nodes, and where the publisher names only the node [no unit]; measured.';
comment on column acme.device_daily_v1.day is 'Day in UTC+8; NULL for cells whose time cannot be parsed; derived.';
comment on column acme.device_daily_v1.first_time is 'First time of the day at which it was listed, with a sample or without; derived.';
comment on column acme.device_daily_v1.last_time is 'Last time of the day at which it was listed, with a sample or without; derived.';
comment on column acme.device_daily_v1.cells is 'Cells of the publisher''s table, with a sample or empty [cells]; derived.';
comment on column acme.device_daily_v1.samples is 'Cells with a value; derived.';
comment on column acme.device_daily_v1.zero_samples is 'Samples that are 0; derived.';
comment on column acme.device_daily_v1.total is 'Sum of the samples: percent of one GPU, or the unit of InfiniBand; NULL without a sample [no unit]; derived.';
comment on column acme.device_daily_v1.max_value is 'Largest sample, in the metric''s unit [no unit]; derived.';
