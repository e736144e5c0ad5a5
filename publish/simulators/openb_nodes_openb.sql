-- The node list.
select
    -- from sn [optional]
    sn,
    -- from cpu_milli [optional]
    cpu_milli,
    -- from memory_mib [optional]
    memory_mib,
    -- from gpu [optional]
    gpu,
    -- from model [optional]
    model,
from openb.node
where node_list = 'all_node'
order by sn
