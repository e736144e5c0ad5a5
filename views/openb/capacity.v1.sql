-- Nodes, GPUs, CPU and memory of the cluster, by GPU model (openb).
-- grain: one row per (node_list, model); model is NULL for nodes without a GPU
-- source: README of cluster-trace-gpu-v2023, node lists
-- caveat: openb.gpu_models_undisclosed: model
-- caveat: openb.node_lists_overlap: node_list
create or replace view openb.capacity_v1 as
select
    node_list,
    model,
    count(*) as nodes,
    sum(gpu)::bigint as gpus,
    sum(gpu * 1000)::bigint as gpu_milli,
    sum(cpu_milli) / 1000.0 as cpus,
    sum(memory_mib) / 1024.0 as memory_gib
from openb.node
group by node_list, model;

comment on column openb.capacity_v1.nodes is 'Nodes; derived.';
comment on column openb.capacity_v1.gpus is 'GPUs; derived.';
comment on column openb.capacity_v1.gpu_milli is 'Thousandths of a GPU, the unit of requests [thousandths of a GPU]; derived.';
comment on column openb.capacity_v1.cpus is 'CPU cores; derived.';
comment on column openb.capacity_v1.memory_gib is 'Main memory in GiB; derived.';
