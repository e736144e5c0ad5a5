-- Free resources of each GPU of the GPU nodes while no pod runs: all of them (openb).
-- grain: one row per (sn, gpu_number)
-- source: README of cluster-trace-gpu-v2023, openb_node_list_gpu_node.csv
-- caveat: openb.gpu_models_undisclosed: model
-- caveat: openb.no_placement
-- caveat: openb.node_sn_differs_by_list: sn
-- resolves_caveat: openb.node_lists_overlap
create or replace view openb.empty_residual_v1 as
with gpus as (
    select
        sn,
        model,
        cpu_milli,
        unnest(generate_series(0, gpu - 1)) as gpu_number
    from openb.node
    where node_list = 'gpu_node' and gpu > 0
)

select
    sn,
    model,
    gpu_number,
    cpu_milli as free_cpu_milli,
    cast(1000 as bigint) as free_gpu_milli
from gpus;

comment on column openb.empty_residual_v1.sn is 'Node, as named in the list of GPU nodes; measured.';
comment on column openb.empty_residual_v1.gpu_number is 'GPU of the node, from 0 [no unit]; derived.';
comment on column openb.empty_residual_v1.free_cpu_milli is 'CPU free on the node, in thousandths of a core, repeated in each row of the node; derived.';
comment on column openb.empty_residual_v1.free_gpu_milli is 'Free share of the GPU, in thousandths [thousandths of a GPU]; derived.';
