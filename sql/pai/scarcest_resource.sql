-- Requested share of each resource (PAI machines)
-- caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.notebook_week_starts_later
-- chart: bar x=resource y=mean_held_pct yname=mean_requested_capacity_pct title=Mean requested share of the capacity by resource (PAI machines)
-- column: resource: Resource
-- column: unit: Unit of the numbers
-- column: capacity [no unit]: What all machines have, in the unit of the row
-- column: hours [h]: Hours from the first start of an instance to the last end
-- column: mean_held_pct: Requests of running instances in percent of the capacity, mean over the hours
-- column: peak_held_pct: Requests of running instances in percent of the capacity, in the hour with the most
-- column: hours_scarcest [h]: Hours in which no other resource was requested to a higher percentage of the capacity
-- column: hours_scarcest_pct: Share of these hours
create or replace macro pai.scarcest_resource() as table
with capacity as (
    select
        stats.fsum(cap_cpu) as cpus,
        stats.fsum(cap_gpu) as gpus,
        stats.fsum(cap_mem) as memory_gb
    from pai.machine_spec
),

hourly as ( -- noqa: ST03
    select
        100.0 * demand.requested_cpus / nullif(capacity.cpus, 0) as cpu_pct,
        100.0 * demand.requested_gpus / nullif(capacity.gpus, 0) as gpu_pct,
        100.0 * demand.requested_memory_gb / nullif(capacity.memory_gb, 0) as memory_pct
    from pai.demand_hourly as demand
    cross join capacity
)

select
    counted.resource,
    case counted.resource when 'cpu' then 'CPU cores' when 'gpu' then 'GPUs' else 'GB' end as unit,
    case counted.resource
        when 'cpu' then capacity.cpus
        when 'gpu' then capacity.gpus
        else capacity.memory_gb
    end as capacity,
    counted.hours,
    counted.mean_held_pct,
    counted.peak_held_pct,
    counted.hours_scarcest,
    100.0 * counted.hours_scarcest / counted.hours as hours_scarcest_pct
from stats.scarcest_resources('hourly') as counted
cross join capacity
order by counted.resource;

comment on macro table pai.scarcest_resource is
'What running instances request of the CPU cores, GPUs and memory of all machines, including those without a GPU, '
'as hourly means: their mean and their peak over the hours from the first start of an instance to the last end, '
'and the hours in which the resource was requested to a higher percentage than the other two. An idle hour has no '
'scarcest resource, and a tie counts for both. Only instances with a start and a later end are counted, as in '
'pai.demand_hourly: those still running when the trace ended, and failed ones of which a time is missing, are not, so '
'percentages are too low. They compare plans, not use; pai.plan_against_usage compares both. The trace does not say '
'whether a machine may be planned above what it has: a percentage over 100 means that it was. A resource can run out '
'on the machines of one GPU type while others have it left.';
