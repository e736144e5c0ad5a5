-- GPUs held and queued per hour, GPU jobs of all traces, in four ways of counting of which a reader chooses one.
-- grain: one row per (trace, is_by_partition, is_offered, cluster, partition_name, hour), from the first to the last hour with a GPU job of the trace
-- source: views/unified/allocation_hour.v2.sql and views/unified/capacity.v1.sql
-- Version 2 leaves the capacity unknown in hours for which the trace gives none; here, that of the whole trace counts.
create or replace view unified.allocation_hour_v1 as
with partitions_or_not as (
    select unnest([false, true]) as is_by_partition
),

capacities as (
    select
        capacity.trace,
        partitions_or_not.is_by_partition,
        capacity.cluster,
        case when partitions_or_not.is_by_partition then capacity.partition_name end as partition_name,
        capacity.gpus
    from unified.capacity_v1 as capacity
    cross join partitions_or_not
),

capacity as (
    select
        trace,
        is_by_partition,
        cluster,
        partition_name,
        cast(sum(gpus) as bigint) as capacity_gpus
    from capacities
    group by trace, is_by_partition, cluster, partition_name
)

select
    allocation.trace,
    allocation.is_by_partition,
    allocation.is_offered,
    allocation.cluster,
    allocation.partition_name,
    allocation.hour,
    allocation.running_jobs,
    allocation.held_gpus,
    allocation.queued_jobs,
    allocation.queued_gpus,
    allocation.unended_jobs,
    allocation.placed_pct,
    coalesce(allocation.capacity_gpus, capacity.capacity_gpus) as capacity_gpus
from unified.allocation_hour_v2 as allocation
left join capacity
    on
        allocation.trace = capacity.trace
        and allocation.is_by_partition = capacity.is_by_partition
        and allocation.cluster is not distinct from capacity.cluster
        and allocation.partition_name is not distinct from capacity.partition_name;

comment on column unified.allocation_hour_v1.capacity_gpus is 'GPUs of the cluster or partition, in this hour if they change; NULL where the trace has none of that name; derived.';
