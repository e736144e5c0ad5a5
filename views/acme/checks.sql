-- Data-quality rules of Acme. Each counts the rows that break it.

-- check: acme.cluster_summary.gpu_time_rates
-- object: acme.cluster_summary
-- kind: derived
-- rule: the rates of GPU time are shares of the sum of the three GPU times, within 0.001
with shares as (
    select
        complete_rate_gpu_time,
        cancel_rate_gpu_time,
        fail_rate_gpu_time,
        complete_gpu_time,
        cancel_gpu_time,
        fail_gpu_time,
        nullif(complete_gpu_time + cancel_gpu_time + fail_gpu_time, 0) as all_gpu_time
    from acme.cluster_summary
)

select count(*)
from shares
where
    abs(complete_rate_gpu_time - complete_gpu_time / all_gpu_time) > 0.001
    or abs(cancel_rate_gpu_time - cancel_gpu_time / all_gpu_time) > 0.001
    or abs(fail_rate_gpu_time - fail_gpu_time / all_gpu_time) > 0.001;

-- check: acme.job_trace.as_summarised
-- object: acme.job_trace
-- kind: coverage
-- rule: each cluster has as many jobs as its job_num in cluster_summary; counts the difference in jobs
-- caveat: acme.paper_counts_more_jobs
with held as (
    select
        cluster,
        count(*) as jobs
    from acme.job_trace
    group by cluster
)

select coalesce(sum(abs(summary.job_num - held.jobs)), 0)
from held
inner join acme.cluster_summary as summary on held.cluster = lower(summary.id);

-- check: acme.gpu_metric.key
-- object: acme.gpu_metric
-- kind: key
-- rule: a device has at most one row per metric and time, checked per day; counts the extra rows
with device_days as (
    select
        cluster,
        metric,
        device,
        epoch_us(time) // 86400000000 as day_number,
        count(*) as listed
    from acme.gpu_metric
    where time is not null
    group by cluster, metric, device, day_number
),

times as (
    select
        cluster,
        metric,
        time
    from acme.gpu_metric
    where time is not null
    group by cluster, metric, time
),

days as (
    select
        cluster,
        metric,
        epoch_us(time) // 86400000000 as day_number,
        count(*) as times
    from times
    group by cluster, metric, day_number
)

select coalesce(sum(device_days.listed - days.times), 0)
from device_days
inner join days
    on
        device_days.cluster = days.cluster
        and device_days.metric = days.metric
        and device_days.day_number = days.day_number
where device_days.listed > days.times;

-- check: acme.gpu_metric.in_node_metric
-- object: acme.gpu_metric
-- kind: reference
-- rule: the node of each GPU has node metrics, if its cluster has node metrics; counts nodes
with gpu_nodes as (
    select
        cluster,
        node
    from acme.gpu_metric
    where node is not null
    group by cluster, node
),

nodes as (
    select
        cluster,
        node
    from acme.node_metric
    group by cluster, node
)

select count(*)
from gpu_nodes
where
    exists (
        select 1
        from nodes
        where nodes.cluster = gpu_nodes.cluster
    )
    and not exists (
        select 1
        from nodes
        where nodes.cluster = gpu_nodes.cluster and nodes.node = gpu_nodes.node
    );

-- check: acme.gpu_metric.attributed
-- object: acme.gpu_metric
-- kind: coverage
-- rule: every device is named after its address; counts device names per metric
-- caveat: acme.device_names_vary
with names as (
    select
        cluster,
        metric,
        device
    from acme.gpu_metric
    where node is null and device is not null
    group by cluster, metric, device
)

select count(*)
from names;

-- check: acme.gpu_metric.several_times
-- object: acme.gpu_metric
-- kind: coverage
-- rule: every metric of a cluster has more than one time; counts metrics
-- caveat: acme.dram_active_one_row
with spans as (
    select
        cluster,
        metric,
        min(time) as first_time,
        max(time) as last_time
    from acme.gpu_metric
    group by cluster, metric
)

select count(*)
from spans
where first_time = last_time;

-- check: acme.node_metric.key
-- object: acme.node_metric
-- kind: key
-- rule: a node has at most one row per metric and time, checked per day; counts the extra rows
with node_days as (
    select
        cluster,
        metric,
        node,
        epoch_us(time) // 86400000000 as day_number,
        count(*) as listed
    from acme.node_metric
    where node is not null and time is not null
    group by cluster, metric, node, day_number
),

times as (
    select
        cluster,
        metric,
        time
    from acme.node_metric
    where time is not null
    group by cluster, metric, time
),

days as (
    select
        cluster,
        metric,
        epoch_us(time) // 86400000000 as day_number,
        count(*) as times
    from times
    group by cluster, metric, day_number
)

select coalesce(sum(node_days.listed - days.times), 0)
from node_days
inner join days
    on
        node_days.cluster = days.cluster
        and node_days.metric = days.metric
        and node_days.day_number = days.day_number
where node_days.listed > days.times;

-- check: acme.node_metric.attributed
-- object: acme.node_metric
-- kind: coverage
-- rule: every device is named after its address; counts device names per metric
-- caveat: acme.node_memory_bad_columns
with names as (
    select
        cluster,
        metric,
        device
    from acme.node_metric
    where node is null and device is not null
    group by cluster, metric, device
)

select count(*)
from names;
