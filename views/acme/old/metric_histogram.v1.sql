-- Number of samples by value of each telemetry metric, values rounded to four significant digits (Acme).
-- grain: one row per (cluster, metric, value)
-- source: README of AcmeTrace, Resource Utilization
-- caveat: acme.telemetry_units_by_convention: value
-- caveat: acme.dram_active_one_row
-- caveat: acme.kalos_host_cpu_over_100: value
-- caveat: acme.node_memory_bad_columns
create or replace view acme.metric_histogram_v1 as
with samples as (
    select
        cluster,
        metric,
        value
    from acme.gpu_metric
    where node is not null and value is not null
    union all
    select
        cluster,
        metric,
        value
    from acme.node_metric
    where node is not null and value is not null
),

-- Most metrics are whole numbers, which need no logarithm.
rounded as (
    select
        cluster,
        metric,
        case
            when value = trunc(value) and abs(value) < 1000000 then value
            when isfinite(value) then round(value, cast(3 - floor(log10(abs(value))) as integer))
            else value
        end as value
    from samples
)

select
    cluster,
    metric,
    value,
    count(*) as samples
from rounded
group by cluster, metric, value;

comment on column acme.metric_histogram_v1.cluster is 'Cluster: seren or kalos; measured.';
comment on column acme.metric_histogram_v1.metric is 'Metric of a GPU or a node, in the unit that its base table gives; measured.';
comment on column acme.metric_histogram_v1.value is 'Value: whole numbers below a million are exact, all others are rounded to four significant digits, the only approximation [no unit]; derived.';
comment on column acme.metric_histogram_v1.samples is 'Samples of all GPUs or nodes with that value; derived.';
