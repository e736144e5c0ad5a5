-- Requested share of each resource (openb nodes)
-- caveat: openb.pods_are_not_all_load
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.deletion_never_empty
-- resolves_caveat: openb.gpu_milli_is_per_gpu
-- resolves_caveat: openb.multigpu_demand_exceeds_capacity
-- resolves_caveat: openb.multigpu_five_columns
-- resolves_caveat: openb.node_lists_overlap
-- resolves_caveat: openb.nomem_lists
-- resolves_caveat: openb.pending_has_no_schedule
-- resolves_caveat: openb.pending_is_withdrawn
-- resolves_caveat: openb.time_origin_shifted
-- resolves_caveat: openb.times_from_first_pod
-- resolves_caveat: openb.variants_are_resampled
-- chart: bar x=resource y=mean_held_pct yname=share_of_the_capacity_that_pods_hold_pct title=Requested share of the capacity by resource (openb pods) note=Mean over the hours from day 110, when most pods begin, of the pods that are there at the time.
-- column: resource: Resource
-- column: unit: Unit of the numbers
-- column: capacity [no unit]: What all nodes have, in the unit of the row
-- column: hours [h]: Hours from from_hour to the last deletion of a pod
-- column: mean_held_pct: Requests of running pods in percent of the capacity, mean over the hours
-- column: peak_held_pct: Requests of running pods in percent of the capacity, in the hour with the most
-- column: hours_scarcest [h]: Hours in which no other resource was requested to a higher percentage of the capacity
-- column: hours_scarcest_pct: Share of these hours
create or replace macro openb.scarcest_resource(
    -- first hour to include; all but 19 pods come after hour 2640, as day 110 starts [0 to 3600]
    from_hour bigint := 2640
) as table
with pods as (
    select
        scheduled_time as start_s,
        deletion_time as end_s,
        cpu_milli,
        num_gpu * gpu_milli as gpu_milli,
        memory_mib
    from openb.pod
    where variant = 'default' and scheduled_time is not null
),

spans as (
    select
        *,
        unnest(
            generate_series(
                cast(floor(start_s / 3600) as bigint), cast(floor((end_s - 1) / 3600) as bigint)
            )
        ) as hour
    from pods
    where end_s > start_s
),

parts as (
    select
        hour,
        cpu_milli,
        gpu_milli,
        memory_mib,
        least(end_s, 3600 * (hour + 1)) - greatest(start_s, 3600 * hour) as part_s
    from spans
    where hour >= from_hour
),

requested as (
    select
        hour,
        sum(cpu_milli * part_s) / 3600000.0 as cpus,
        sum(gpu_milli * part_s) / 3600000.0 as gpus,
        sum(memory_mib * part_s) / 3600.0 / 1024.0 as memory_gib
    from parts
    group by hour
),

bounds as (
    select cast(floor(max(end_s) / 3600) as bigint) as last_hour
    from pods
),

-- Includes idle hours.
hours as (
    select unnest(generate_series(from_hour, last_hour)) as hour
    from bounds
),

capacity as (
    select
        sum(gpus) filter (where node_list = 'gpu_node') as gpus,
        stats.fsum(case when node_list = 'all_node' then cpus end) as cpus,
        stats.fsum(case when node_list = 'all_node' then memory_gib end) as memory_gib
    from openb.capacity
),

hourly as ( -- noqa: ST03
    select
        100.0 * coalesce(requested.cpus, 0) / nullif(capacity.cpus, 0) as cpu_pct,
        100.0 * coalesce(requested.gpus, 0) / nullif(capacity.gpus, 0) as gpu_pct,
        100.0 * coalesce(requested.memory_gib, 0) / nullif(capacity.memory_gib, 0) as memory_pct
    from hours
    cross join capacity
    left join requested on hours.hour = requested.hour
)

select
    counted.resource,
    case counted.resource when 'cpu' then 'CPU cores' when 'gpu' then 'GPUs' else 'GiB' end as unit,
    case counted.resource
        when 'cpu' then capacity.cpus
        when 'gpu' then capacity.gpus
        else capacity.memory_gib
    end as capacity,
    counted.hours,
    counted.mean_held_pct,
    counted.peak_held_pct,
    counted.hours_scarcest,
    100.0 * counted.hours_scarcest / counted.hours as hours_scarcest_pct
from stats.scarcest_resources('hourly') as counted
cross join capacity
order by counted.resource;

comment on macro table openb.scarcest_resource is
'What running pods of the default list request of the CPU cores, GPUs and memory of the cluster, as hourly means: '
'their mean and their peak over the hours from from_hour to the last deletion, and the hours in which the resource was '
'requested to a higher percentage than the other two. An idle hour has no scarcest resource, and a tie counts for both. '
'A pod counts from scheduling to deletion; pods that were never scheduled hold nothing. Pods that still ran when the '
'trace ended count up to its end. The capacity of GPUs is that of the list of GPU nodes, CPU cores and memory are those '
'of the list of all nodes, as in openb.use_by_day, whose peaks are of moments and not of hours. The trace does not say '
'on which node a pod ran, nor whether requests may exceed what a node has. A resource can run out on the nodes of one '
'GPU model while others have it left.';
