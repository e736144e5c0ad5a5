-- Telemetry of one GPU on one day (Acme GPUs)
-- resolves_caveat: acme.job_zones_differ
-- resolves_caveat: acme.medians_differ_from_paper
-- resolves_caveat: acme.no_nodes_on_jobs
-- resolves_caveat: acme.power_claim_not_reproduced
-- chart: line x=time y=value yname={on_metric} note=GPU 0 of the first node, on the first day of the metric, where the parameters choose no other.
create or replace macro acme.gpu_day(
    on_cluster varchar := 'kalos',
    -- [GPU_UTIL GPU_TEMP MEMORY_TEMP MEM_CLOCK SM_CLOCK MEM_COPY_UTIL FB_FREE FB_USED POWER_USAGE DRAM_ACTIVE
    -- PIPE_TENSOR_ACTIVE SM_ACTIVE SM_OCCUPANCY XID_ERRORS]
    on_metric varchar := 'GPU_UTIL',
    -- address of the node; NULL for the first by name [acme.gpu_metric.node]
    on_node varchar := null,
    -- number of the GPU on its node; NULL for samples that name only the node [0 to 7]
    on_gpu bigint := 0,
    -- day in UTC+8; NULL for the first day of the metric [2023-01-01 to 2023-12-31]
    on_day date := null
) as table
-- Only read if on_node or on_day is NULL. With order by and limit, DuckDB reads few row groups.
with first_node as (
    select node
    from acme.gpu_metric
    where cluster = on_cluster and metric = on_metric and node is not null and on_node is null
    order by node
    limit 1
),

chosen_node as (
    select on_node as node
    where on_node is not null
    union all
    select node from first_node
),

first_sample as (
    select time
    from acme.gpu_metric
    where cluster = on_cluster and metric = on_metric and on_day is null
    order by time
    limit 1
),

clock as (
    select local_offset_s
    from catalog.clocks
    where clock = 'acme.telemetry'
),

-- A day in UTC+8 starts before the same day in UTC.
chosen_day as (
    select epoch(on_day) - local_offset_s as start_s
    from clock
    where on_day is not null
    union all
    select
        86400 * floor((epoch_us(first_sample.time) / 1e6 + clock.local_offset_s) / 86400)
        - clock.local_offset_s
    from first_sample
    cross join clock
),

-- Repeats the filters on on_node and on_day, so that DuckDB skips other row groups; a local day lies within one day
-- of the same day in UTC.
samples as (
    select
        node,
        time,
        value
    from acme.gpu_metric
    where
        cluster = on_cluster
        and metric = on_metric
        and (gpu = on_gpu or (on_gpu is null and gpu is null))
        and (on_node is null or node = on_node)
        and (on_day is null or time >= to_timestamp(epoch(on_day) - 86400))
        and (on_day is null or time < to_timestamp(epoch(on_day) + 172800))
)

select
    samples.time,
    samples.value
from samples
inner join chosen_node on samples.node = chosen_node.node
inner join chosen_day
    on
        samples.time >= to_timestamp(chosen_day.start_s)
        and samples.time < to_timestamp(chosen_day.start_s + 86400)
order by samples.time, samples.value;

comment on macro table acme.gpu_day is 'Samples of the GPU on one day of UTC+8, in the unit of the metric; NULL where the cell of the publisher is empty.';
