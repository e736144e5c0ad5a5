-- How many GPUs and nodes each cluster has, per partition, of the traces that tell it.
-- grain: one row per (trace, cluster, partition_name)
-- source: each publisher's README, or where the trace's own view says
create or replace view unified.capacity_v1 as
select
    trace,
    cluster,
    partition_name,
    gpus,
    nodes
from each_trace.cluster_capacity_v1;

comment on column unified.capacity_v1.trace is 'Trace; measured.';
comment on column unified.capacity_v1.cluster is 'Cluster, where a trace tells them apart, as in unified.jobs; measured.';
comment on column unified.capacity_v1.partition_name is 'Part of the cluster that its capacity is told of: a type or model of GPU, or the cluster; measured.';
comment on column unified.capacity_v1.gpus is 'GPUs of the partition, as the trace or its publisher tells them; derived.';
comment on column unified.capacity_v1.nodes is 'Nodes with GPUs; NULL where nobody tells; derived.';
