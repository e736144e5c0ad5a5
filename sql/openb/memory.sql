-- How much GPU memory would the openb cluster have?
-- caveat: openb.gpu_models_undisclosed
-- chart: bar x=model y=memory_gb omit=all
create or replace macro openb.memory() as table
select
    coalesce(capacity.model, 'all') as model,
    cast(sum(capacity.nodes) as bigint) as nodes,
    cast(sum(capacity.gpus) as bigint) as gpus,
    case when grouping(capacity.model) = 0 then max(assumed.assumed_memory_gb) end as assumed_memory_gb,
    fsum(capacity.gpus * assumed.assumed_memory_gb) as memory_gb
from openb.capacity as capacity
left join openb.gpu_memory as assumed on capacity.model = assumed.model
where capacity.node_list = 'gpu_node'
group by grouping sets ((capacity.model), ())
order by grouping(capacity.model), capacity.model;

comment on macro table openb.memory is 'Nodes and GPUs per GPU model, the memory that one GPU is assumed to have, and what that makes together, with a last row for all.';
