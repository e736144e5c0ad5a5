-- Nodes and capacity by GPU model (openb nodes)
-- resolves_caveat: openb.node_lists_overlap
-- column: model: GPU model, or all
-- column: gpu_milli [thousandths of a GPU]: Capacity in thousandths of a GPU
-- column: memory_gib: Main memory
-- chart: bar x=model xname=gpu_model y=gpus title=GPUs by GPU model (openb nodes)
create or replace macro openb.capacity_by_model(
    -- node list to report on [gpu_node all_node]
    in_list varchar := 'gpu_node',
    with_total boolean := false
) as table
select
    coalesce(model, case when grouping(model) = 1 then 'all' else 'no GPU' end) as model,
    cast(sum(capacity.nodes) as bigint) as nodes,
    cast(sum(gpus) as bigint) as gpus,
    cast(sum(gpu_milli) as bigint) as gpu_milli,
    stats.fsum(cpus) as cpus,
    stats.fsum(memory_gib) as memory_gib
from openb.capacity as capacity
where node_list = in_list
group by grouping sets ((model), ())
having bool_or(with_total) or grouping(model) = 0
order by grouping(model), model;

comment on macro table openb.capacity_by_model is 'Nodes, GPUs, CPU cores and memory per GPU model.';
