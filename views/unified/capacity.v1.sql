-- GPUs and nodes of each cluster and partition, for the traces that record them.
-- grain: one row per (trace, cluster, partition_name)
-- source: each publisher's README, or where the trace's own view says
create or replace view unified.capacity_v1 as
select
    trace,
    cluster,
    partition_name,
    gpus,
    nodes,
    cpus
from each_trace.cluster_capacity_v1;

comment on column unified.capacity_v1.trace is 'Trace; measured.';
comment on column unified.capacity_v1.cluster is 'Cluster, if the trace distinguishes clusters, as in unified.jobs; measured.';
comment on column unified.capacity_v1.partition_name is 'Part of the cluster that the capacity is given for: a GPU type or model, or the cluster; measured.';
comment on column unified.capacity_v1.gpus is 'GPUs of the partition, as the trace or its publisher gives them, or for ITP a simulation; derived.';
comment on column unified.capacity_v1.nodes is 'Nodes with GPUs; NULL if not published; derived.';
comment on column unified.capacity_v1.cpus is 'CPU cores of the nodes with GPUs; NULL if not published; derived.';
