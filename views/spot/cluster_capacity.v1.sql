-- GPUs and nodes of the cluster, by GPU model (spot).
-- grain: one row per GPU model
-- source: README of cluster-trace-v2026-spot-gpu, node_info_df.csv
-- caveat: spot.models_are_hidden: partition_name
create or replace view spot.cluster_capacity_v1 as
select
    cast(null as varchar) as cluster,
    gpu_model as partition_name,
    cast(sum(gpu_capacity_num) as bigint) as gpus,
    count(*) as nodes,
    stats.fsum(cpu_num) as cpus
from spot.node
group by gpu_model;

comment on column spot.cluster_capacity_v1.partition_name is 'GPU model; measured.';
comment on column spot.cluster_capacity_v1.gpus is 'GPUs of the model; derived.';
comment on column spot.cluster_capacity_v1.nodes is 'Nodes with such GPUs; derived.';
