-- GPUs and GPU nodes of the openb cluster by model, in the common capacity format.
-- grain: one row per GPU model
-- source: README of cluster-trace-gpu-v2023, node lists
-- caveat: openb.pods_are_not_all_load: gpus
-- resolves_caveat: openb.node_lists_overlap
create or replace view openb.cluster_capacity_v1 as
select
    cast(null as varchar) as cluster,
    model as partition_name,
    gpus,
    nodes,
    cpus
from openb.capacity_v1
-- The other list repeats these nodes, and adds the nodes without a GPU.
where node_list = 'gpu_node';

comment on column openb.cluster_capacity_v1.partition_name is 'GPU model, some under other names; a job''s partition is the model that it asks for, which may be several models or none; measured.';
