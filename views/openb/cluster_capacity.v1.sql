-- How many GPUs and nodes with GPUs the openb cluster has of each model, in the terms that all traces share.
-- grain: one row per GPU model
-- source: README of cluster-trace-gpu-v2023, node lists
-- settles: openb.node_lists_overlap
create or replace view openb.cluster_capacity_v1 as
select
    cast(null as varchar) as cluster,
    model as partition_name,
    gpus,
    nodes
from openb.capacity_v1
-- The other list has these nodes again, and those without a GPU.
where node_list = 'gpu_node';

comment on column openb.cluster_capacity_v1.partition_name is 'GPU model, some under other names; a job''s partition is what it asks for, which may be several models or none; measured.';
