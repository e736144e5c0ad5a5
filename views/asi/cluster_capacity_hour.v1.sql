-- GPUs and GPU servers of ASI by hour and model, in the common capacity format.
-- grain: one row per (hour, partition_name)
-- source: docs/schema.md of cluster-trace-gpu-v2026
-- caveat: asi.undisclosed_models: partition_name
-- materialize: parquet per partition
create or replace view asi.cluster_capacity_hour_v1 as
select
    24 * day + hour_of_day as hour,
    cast(null as varchar) as cluster,
    gpu_model as partition_name,
    cast(stats.fsum(server.gpus) as bigint) as gpus,
    count(*) as nodes,
    stats.fsum(server.cpus) as cpus
from asi.server_hour_v1 as server
group by 24 * day + hour_of_day, gpu_model;

comment on column asi.cluster_capacity_hour_v1.hour is 'Hour since the start of the trace [no unit]; derived.';
comment on column asi.cluster_capacity_hour_v1.partition_name is 'GPU model; measured.';
comment on column asi.cluster_capacity_hour_v1.cluster is 'Cluster; NULL, as all clusters are counted together; derived.';
comment on column asi.cluster_capacity_hour_v1.gpus is 'GPUs of the partition in the hour; derived.';
comment on column asi.cluster_capacity_hour_v1.nodes is 'Nodes with such GPUs in the hour; derived.';
comment on column asi.cluster_capacity_hour_v1.cpus is 'CPU cores of these nodes; derived.';
