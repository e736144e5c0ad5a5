-- Number of samples by value of each telemetry metric, values rounded to four significant digits (Acme).
-- grain: one row per (cluster, metric, value)
-- source: README of AcmeTrace, Resource Utilization
-- caveat: acme.dram_active_one_row
-- caveat: acme.kalos_host_cpu_over_100: value
-- caveat: acme.telemetry_units_by_convention: value
-- caveat: acme.xid_is_a_latch: value samples
-- materialize: parquet per partition
create or replace view acme.metric_histogram_v2 as
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
            when isfinite(value) then stats.four_digits(value)
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

comment on column acme.metric_histogram_v2.value is 'Value: whole numbers below a million are exact, all others are rounded to four significant digits, halves away from zero, the only approximation [no unit]; derived.';
