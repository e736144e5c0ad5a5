-- What did each of Acme's GPUs do in one hour?
-- param: on_cluster: cluster of the GPUs
-- choices: on_cluster: seren kalos
-- param: on_metric: what was measured
-- choices: on_metric: GPU_UTIL GPU_TEMP MEMORY_TEMP MEM_CLOCK SM_CLOCK MEM_COPY_UTIL FB_FREE FB_USED POWER_USAGE DRAM_ACTIVE PIPE_TENSOR_ACTIVE SM_ACTIVE SM_OCCUPANCY XID_ERRORS
-- param: from_time: begin of the hour; NULL for the first full hour of the metric
-- caveat: acme.telemetry_units_by_convention
-- chart: point x=node y=mean_value
create or replace macro acme.fleet_hour(
    on_cluster varchar := 'kalos',
    on_metric varchar := 'GPU_UTIL',
    from_time timestamptz := null
) as table
-- Looked for only where it is not given; in order, as the least time is then found in a few blocks.
with first_row as (
    select (
        select time
        from acme.gpu_metric
        where cluster = on_cluster and metric = on_metric and from_time is null
        order by time
        limit 1
    ) as time
),

chosen as (
    select coalesce(from_time, to_timestamp(3600 * ceil(epoch(time) / 3600))) as hour_start
    from first_row
)

select
    sample.node,
    sample.gpu,
    count(sample.value) as samples,
    count(*) - count(sample.value) as empty_samples,
    avg(sample.value) as mean_value,
    max(sample.value) as max_value
from acme.gpu_metric as sample
inner join chosen
    on
        sample.time >= chosen.hour_start
        and sample.time < chosen.hour_start + interval 1 hour
where
    sample.cluster = on_cluster
    and sample.metric = on_metric
    and sample.node is not null
    -- The same again where it is given, so that blocks of other hours are not read.
    and (from_time is null or sample.time >= from_time)
    and (from_time is null or sample.time < from_time + interval 1 hour)
group by sample.node, sample.gpu
order by sample.node, sample.gpu;

comment on macro table acme.fleet_hour is 'Samples, empty cells, mean and maximum per GPU over the hour, in the metric''s unit.';
