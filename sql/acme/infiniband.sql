-- InfiniBand traffic and its coverage (Acme nodes)
-- caveat: acme.capacity_from_paper
-- caveat: acme.device_names_vary
-- caveat: acme.telemetry_covers_part
-- caveat: acme.telemetry_units_by_convention
-- resolves_caveat: acme.dram_active_one_row
-- resolves_caveat: acme.kalos_host_cpu_over_100
-- resolves_caveat: acme.xid_is_a_latch
-- chart: bar x=metric y=mean_value color=cluster yname=mean_recorded_traffic,_unit_not_published title=Mean InfiniBand traffic by direction (Acme nodes)
-- column: metric: Metric of a GPU or a node, by the name of its file
-- column: nodes: Nodes with samples of the metric
-- column: nodes_pct: Nodes with a sample in percent of the published fleet
-- column: first_time: First time
-- column: last_time: Last time
-- column: samples: Samples of the metric
-- column: empty_samples: Cells of the metric without a sample
-- column: zero_pct: Share of the samples that are 0
-- column: value [no unit]: Value, in the unit of the metric or curve
-- column: mean_busy_value [no unit]: Mean of the samples other than 0, in the metric's unit
-- column: median_node_value [no unit]: Median over nodes of each one's mean, in the metric's unit
-- column: busiest_node_value [no unit]: Largest mean of a node, in the metric's unit
create or replace macro acme.infiniband() as table
with known as (
    select
        fleet.cluster,
        metrics.metric,
        fleet.nodes
    from acme.cluster_capacity as fleet
    cross join (values ('NODE_IB_SEND'), ('NODE_IB_RECEIVE')) as metrics (metric)
),

node_sums as (
    select
        cluster,
        metric,
        node,
        min(first_time) as first_time,
        max(last_time) as last_time,
        sum(cells) as listed,
        sum(samples) as samples,
        sum(zero_samples) as zeros,
        stats.fsum(total) as total,
        max(max_value) as largest
    from acme.device_daily
    where metric in ('NODE_IB_SEND', 'NODE_IB_RECEIVE')
    group by cluster, metric, node
),

metric_sums as (
    select
        cluster,
        metric,
        count(*) filter (where samples > 0) as nodes,
        min(first_time) as first_time,
        max(last_time) as last_time,
        sum(samples) as samples,
        sum(listed) - sum(samples) as empty_samples,
        sum(zeros) as zeros,
        stats.fsum(total) as total,
        max(largest) as largest,
        median(total / nullif(samples, 0)) as median_node_value,
        max(total / nullif(samples, 0)) as busiest_node_value
    from node_sums
    group by cluster, metric
),

percentiles as (
    select
        cluster,
        metric,
        max(value) filter (where percentile = 50) as median_value,
        max(value) filter (where percentile = 75) as p75_value,
        max(value) filter (where percentile = 90) as p90_value,
        max(value) filter (where percentile = 95) as p95_value,
        max(value) filter (where percentile = 99) as p99_value
    from acme.metric_cdf
    where metric in ('NODE_IB_SEND', 'NODE_IB_RECEIVE')
    group by cluster, metric
)

-- Left join: includes directions without recorded data.
select
    known.cluster,
    known.metric,
    coalesce(metric_sums.nodes, 0) as nodes,
    100.0 * coalesce(metric_sums.nodes, 0) / known.nodes as nodes_pct,
    metric_sums.first_time,
    metric_sums.last_time,
    cast(coalesce(metric_sums.samples, 0) as bigint) as samples,
    cast(coalesce(metric_sums.empty_samples, 0) as bigint) as empty_samples,
    100.0 * metric_sums.zeros / nullif(metric_sums.samples, 0) as zero_pct,
    metric_sums.total / nullif(metric_sums.samples, 0) as mean_value,
    metric_sums.total / nullif(metric_sums.samples - metric_sums.zeros, 0) as mean_busy_value,
    percentiles.median_value,
    percentiles.p75_value,
    percentiles.p90_value,
    percentiles.p95_value,
    percentiles.p99_value,
    metric_sums.largest as max_value,
    metric_sums.median_node_value,
    metric_sums.busiest_node_value
from known
left join metric_sums on known.cluster = metric_sums.cluster and known.metric = metric_sums.metric
left join percentiles on known.cluster = percentiles.cluster and known.metric = percentiles.metric
order by known.cluster, known.metric;

comment on macro table acme.infiniband is
'One row per cluster and direction (NODE_IB_SEND and NODE_IB_RECEIVE, the only network metrics), '
'including directions without recorded data: nodes is 0 there and values are NULL. Values are in the unit '
'of the publisher''s files, which is not documented. They can be compared with each other but not with '
'the rate of a link, which is not published either. nodes counts nodes with a sample; nodes_pct is their '
'share of the 286 nodes of Seren or the 302 of Kalos. first_time and last_time refer to cells; samples '
'counts cells with a value and empty_samples cells without one. zero_pct is the share of samples that are '
'0; mean_value is the mean of all samples and mean_busy_value the mean of samples other than 0. A '
'percentile is the least value that so many percent of the samples do not exceed; values other than whole '
'numbers below a million are rounded to four significant digits first. median_node_value is the '
'interpolated median of the means per node and busiest_node_value the largest of them. Where a node has '
'columns for several ports, each is a sample of the node; ports are not added up. Columns whose name is '
'not an address are left out. No file records link errors, Ethernet or storage traffic.';
