-- InfiniBand traffic and its coverage (Acme nodes)
-- caveat: acme.telemetry_units_by_convention
-- caveat: acme.telemetry_covers_part
-- caveat: acme.capacity_from_paper
-- caveat: acme.device_names_vary
-- chart: bar x=metric y=mean_value color=cluster
-- column: empty_samples: Cells of the metric that hold no sample
-- column: nodes: Nodes with samples of the metric
-- column: samples: Samples of the metric
create or replace macro acme.infiniband() as table
with known as (
    select
        fleet.cluster,
        metrics.metric,
        fleet.nodes
    from acme.cluster_capacity as fleet
    cross join (values ('NODE_IB_SEND'), ('NODE_IB_RECEIVE')) as metrics (metric)
),

of_nodes as (
    select
        cluster,
        metric,
        node,
        min(first_time) as first_time,
        max(last_time) as last_time,
        sum(cells) as listed,
        sum(samples) as samples,
        sum(zero_samples) as zeros,
        fsum(total) as total,
        max(max_value) as largest
    from acme.device_daily
    where metric in ('NODE_IB_SEND', 'NODE_IB_RECEIVE')
    group by cluster, metric, node
),

of_metrics as (
    select
        cluster,
        metric,
        count(*) filter (where samples > 0) as nodes,
        min(first_time) as first_time,
        max(last_time) as last_time,
        sum(samples) as samples,
        sum(listed) - sum(samples) as empty_samples,
        sum(zeros) as zeros,
        fsum(total) as total,
        max(largest) as largest,
        median(total / nullif(samples, 0)) as median_node_value,
        max(total / nullif(samples, 0)) as busiest_node_value
    from of_nodes
    group by cluster, metric
),

percentiles as (
    select
        cluster,
        metric,
        max(value) filter (where percentile = 50) as median_value,
        max(value) filter (where percentile = 90) as p90_value,
        max(value) filter (where percentile = 99) as p99_value
    from acme.metric_cdf
    where metric in ('NODE_IB_SEND', 'NODE_IB_RECEIVE')
    group by cluster, metric
)

-- Outward from what there could be, so that what was not recorded is there too.
select
    known.cluster,
    known.metric,
    coalesce(of_metrics.nodes, 0) as nodes,
    100.0 * coalesce(of_metrics.nodes, 0) / known.nodes as nodes_pct,
    of_metrics.first_time,
    of_metrics.last_time,
    cast(coalesce(of_metrics.samples, 0) as bigint) as samples,
    cast(coalesce(of_metrics.empty_samples, 0) as bigint) as empty_samples,
    100.0 * of_metrics.zeros / nullif(of_metrics.samples, 0) as zero_pct,
    of_metrics.total / nullif(of_metrics.samples, 0) as mean_value,
    of_metrics.total / nullif(of_metrics.samples - of_metrics.zeros, 0) as mean_busy_value,
    percentiles.median_value,
    percentiles.p90_value,
    percentiles.p99_value,
    of_metrics.largest as max_value,
    of_metrics.median_node_value,
    of_metrics.busiest_node_value
from known
left join of_metrics on known.cluster = of_metrics.cluster and known.metric = of_metrics.metric
left join percentiles on known.cluster = percentiles.cluster and known.metric = percentiles.metric
order by known.cluster, known.metric;

comment on macro table acme.infiniband is 'One row per cluster and direction, NODE_IB_SEND and NODE_IB_RECEIVE, the only metrics of the network, there also where nothing was recorded: nodes are then 0 and values NULL. Values are in the unit of the publisher''s files, which no document states; they compare among each other, and are no share of a link''s rate, which is not published either. nodes have a sample, nodes_pct is their share of the 286 nodes of Seren or the 302 of Kalos; first_time and last_time are of the cells listed, samples have a value and empty_samples none. zero_pct is the share of samples that are 0; mean_value is the mean of all samples, mean_busy_value that of those other than 0; median_value, p90_value and p99_value are the least value that so many percent of the samples do not exceed, whole numbers below a million as they are, all others rounded to four significant digits before; max_value is the largest. median_node_value is the median over nodes of each node''s mean, interpolated, and busiest_node_value the largest of these means; a node''s ports, where it has columns for several, count as samples of the node, not as a sum. Columns whose name is no address are left out. Errors of the links, and traffic over Ethernet or to storage, are in no file.';
