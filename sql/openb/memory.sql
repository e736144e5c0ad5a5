-- Assumed GPU memory by GPU model (openb nodes)
-- caveat: openb.gpu_models_undisclosed
-- resolves_caveat: openb.node_lists_overlap
-- column: model: GPU model, or all
-- column: assumed_memory_gb: Memory that one GPU of the model is assumed to have
-- column: memory_gb: Memory
-- chart: bar x=model xname=gpu_model y=memory_gb title=Total GPU memory by model, at assumed sizes (openb nodes) note=The trace has no memory sizes. Assumed: 16 GB (A10, P100, T4, V100M16), 24 GB (G2), 32 GB (V100M32), 40 GB (G3). A real A10 has 24 GB.
create or replace macro openb.memory(with_total boolean := false) as table
with models as (
    select
        capacity.model,
        capacity.nodes,
        capacity.gpus,
        assumed.assumed_memory_gb
    from openb.capacity as capacity
    left join openb.gpu_memory as assumed on capacity.model = assumed.model
    where capacity.node_list = 'gpu_node'
)

select
    coalesce(model, 'all') as model,
    cast(sum(models.nodes) as bigint) as nodes,
    cast(sum(models.gpus) as bigint) as gpus,
    case when grouping(model) = 0 then max(models.assumed_memory_gb) end as assumed_memory_gb,
    stats.fsum(gpus * models.assumed_memory_gb) as memory_gb
from models
group by grouping sets ((model), ())
having bool_or(with_total) or grouping(model) = 0
order by grouping(model), model;

comment on macro table openb.memory is
'Nodes and GPUs per GPU model, the memory that one GPU is assumed to have, and the total. The trace has no '
'memory of GPUs, and G2 and G3 are undisclosed: the sizes were chosen so that the total is the 145,280 GB of '
'a case study, which it therefore does not confirm. An A10 has 16 GB here and is sold with 24.';
