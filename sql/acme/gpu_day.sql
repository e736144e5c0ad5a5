-- What did one of Acme's GPUs do on one day?
-- param: on_cluster: cluster of the GPU
-- choices: on_cluster: seren kalos
-- param: on_metric: what was measured
-- choices: on_metric: GPU_UTIL GPU_TEMP MEMORY_TEMP MEM_CLOCK SM_CLOCK MEM_COPY_UTIL FB_FREE FB_USED POWER_USAGE DRAM_ACTIVE PIPE_TENSOR_ACTIVE SM_ACTIVE SM_OCCUPANCY XID_ERRORS
-- param: on_node: address of the node; NULL for the first by name
-- param: on_gpu: GPU on its node
-- param: on_day: day in UTC+8; NULL for the metric's first
-- caveat: acme.telemetry_units_by_convention
-- chart: line x=time y=value
create or replace macro acme.gpu_day(
    on_cluster varchar := 'kalos',
    on_metric varchar := 'GPU_UTIL',
    on_node varchar := null,
    on_gpu bigint := 0,
    on_day date := null
) as table
-- Looked for only where it is not given; in order, as the least time and name are then found in a few blocks.
with first_row as (
    select (
        select time
        from acme.gpu_metric
        where cluster = on_cluster and metric = on_metric and on_day is null
        order by time
        limit 1
    ) as time
),

first_node as (
    select (
        select node
        from acme.gpu_metric
        where cluster = on_cluster and metric = on_metric and node is not null and on_node is null
        order by node
        limit 1
    ) as node
),

-- Days of UTC+8 begin 57,600 s after those of UTC, or 28,800 s before.
chosen as (
    select
        coalesce(on_node, first_node.node) as node,
        coalesce(
            epoch(on_day) - 28800,
            86400 * floor((epoch(first_row.time) + 28800) / 86400) - 28800
        ) as day_start_s
    from first_row
    cross join first_node
)

select
    sample.time,
    sample.value
from acme.gpu_metric as sample
inner join chosen
    on
        sample.node = chosen.node
        and sample.time >= to_timestamp(chosen.day_start_s)
        and sample.time < to_timestamp(chosen.day_start_s + 86400)
where
    sample.cluster = on_cluster
    and sample.metric = on_metric
    and sample.gpu = on_gpu
    -- The same again where it is given, so that blocks of other nodes and days are not read.
    and (on_node is null or sample.node = on_node)
    and (on_day is null or sample.time >= to_timestamp(epoch(on_day) - 28800))
    and (on_day is null or sample.time < to_timestamp(epoch(on_day) + 57600))
order by sample.time;

comment on macro table acme.gpu_day is 'The GPU''s samples of a day of UTC+8, in the metric''s unit; NULL where the publisher''s cell is empty.';
