-- Nodes and capacity by GPU model (spot nodes)
-- resolves_caveat: spot.demand_over_capacity
-- chart: bar x=gpu_model y=gpus title=GPUs by GPU model (spot nodes)
-- column: gpu_model: GPU model, or all
-- column: whole_nodes: Nodes with 8 GPUs
-- column: gpus: GPUs of the nodes
create or replace macro spot.capacity_by_model(with_total boolean := false) as table
select
    coalesce(gpu_model, 'all') as gpu_model,
    count(*) as nodes,
    count(*) filter (where gpu_capacity_num = 8) as whole_nodes,
    cast(sum(gpu_capacity_num) as bigint) as gpus,
    cast(sum(cpu_num) as bigint) as cpus
from spot.node
group by grouping sets ((gpu_model), ())
having bool_or(with_total) or grouping(gpu_model) = 0
order by grouping(gpu_model), gpu_model;

comment on macro table spot.capacity_by_model is 'Nodes, nodes with 8 GPUs, GPUs and CPU cores per GPU model.';
