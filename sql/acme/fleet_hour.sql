-- Telemetry of each GPU in one hour (Acme GPUs)
-- resolves_caveat: acme.job_zones_differ
-- resolves_caveat: acme.medians_differ_from_paper
-- resolves_caveat: acme.no_nodes_on_jobs
-- resolves_caveat: acme.power_claim_not_reproduced
-- chart: point x=node y=mean_value yname=mean_{on_metric} note=A point for each GPU, in the first full hour of the metric or the chosen one.
-- column: samples: Samples of the hour
-- column: empty_samples: Cells of the publisher's table that hold no sample
-- column: value [no unit]: Value, in the unit of the metric or curve
create or replace macro acme.fleet_hour(
    on_cluster varchar := 'kalos',
    -- [GPU_UTIL GPU_TEMP MEMORY_TEMP MEM_CLOCK SM_CLOCK MEM_COPY_UTIL FB_FREE FB_USED POWER_USAGE DRAM_ACTIVE
    -- PIPE_TENSOR_ACTIVE SM_ACTIVE SM_OCCUPANCY XID_ERRORS]
    on_metric varchar := 'GPU_UTIL',
    -- start of the hour; NULL for the first full hour of the metric [2023-01-01 to 2024-01-01]
    from_time timestamp with time zone := null
) as table
-- Only read if from_time is NULL. With order by and limit, DuckDB reads few row groups.
with first_hour as (
    select to_timestamp(3600 * ceil(epoch_us(time) / 1e6 / 3600)) as start_time
    from acme.gpu_metric
    where cluster = on_cluster and metric = on_metric and from_time is null
    order by time
    limit 1
),

chosen_hour as (
    select from_time as start_time
    where from_time is not null
    union all
    select start_time from first_hour
),

-- Repeats the filter on from_time, so that DuckDB skips the row groups of other hours.
samples as (
    select
        node,
        gpu,
        time,
        value
    from acme.gpu_metric
    where
        cluster = on_cluster
        and metric = on_metric
        and node is not null
        and (from_time is null or time >= from_time)
        and (from_time is null or time < from_time + interval 1 hour)
)

select
    samples.node,
    samples.gpu,
    count(samples.value) as samples,
    count(*) - count(samples.value) as empty_samples,
    stats.favg(samples.value) as mean_value,
    max(samples.value) as max_value
from samples
inner join chosen_hour
    on
        samples.time >= chosen_hour.start_time
        and samples.time < chosen_hour.start_time + interval 1 hour
group by samples.node, samples.gpu
order by samples.node, samples.gpu;

comment on macro table acme.fleet_hour is 'Samples, empty cells, mean and maximum per GPU over the hour, in the unit of the metric.';
