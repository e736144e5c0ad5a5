-- Cells and samples of each telemetry metric, by recorded time (Acme).
-- grain: one row per (cluster, source_table, metric, time)
-- source: README of AcmeTrace, Resource Utilization
-- caveat: acme.telemetry_covers_part: time
-- materialize: parquet per partition by cluster, source_table, metric, time
create or replace view acme.telemetry_time_v1 as
with listed as (
    select
        cluster,
        'gpu_metric' as source_table,
        metric,
        node,
        time,
        value
    from acme.gpu_metric
    union all
    select
        cluster,
        'node_metric' as source_table,
        metric,
        node,
        time,
        value
    from acme.node_metric
)

select
    cluster,
    source_table,
    metric,
    time,
    count(*) as cells,
    count(value) as samples,
    count(node) as device_cells,
    count(value) filter (where node is not null) as device_samples
from listed
group by cluster, source_table, metric, time;

comment on column acme.telemetry_time_v1.cluster is 'Cluster: seren or kalos; measured.';
comment on column acme.telemetry_time_v1.source_table is 'Base table: gpu_metric or node_metric; derived.';
comment on column acme.telemetry_time_v1.metric is 'Metric; measured.';
comment on column acme.telemetry_time_v1.time is 'Recorded time; NULL where no time can be parsed; measured.';
comment on column acme.telemetry_time_v1.cells is 'Cells of the publisher''s table, with a sample or empty [cells]; derived.';
comment on column acme.telemetry_time_v1.samples is 'Cells with a value, those of unattributed names included; derived.';
comment on column acme.telemetry_time_v1.device_cells is 'Cells of columns whose name is the address of a GPU or node [cells]; derived.';
comment on column acme.telemetry_time_v1.device_samples is 'Cells of such columns with a value; derived.';
