-- GPUs and nodes of each cluster and partition by hour, for the traces in which they change.
-- grain: one row per (trace, hour, cluster, partition_name)
-- source: each publisher's README, or where the trace's own view says
create or replace view unified.capacity_hour_v1 as
select
    trace,
    hour,
    cluster,
    partition_name,
    gpus,
    nodes,
    cpus
from each_trace.cluster_capacity_hour_v1;

comment on column unified.capacity_hour_v1.trace is 'Trace; measured.';
comment on column unified.capacity_hour_v1.hour is 'Hour of the trace''s own clock [no unit]; derived.';
comment on column unified.capacity_hour_v1.partition_name is 'Part of the cluster that the capacity is given for: a GPU model; measured.';
