-- Allocated GPUs, CPU cores and memory per day (openb pods)
-- caveat: openb.pods_are_not_all_load
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.deletion_never_empty
-- resolves_caveat: openb.gpu_milli_is_per_gpu
-- resolves_caveat: openb.multigpu_demand_exceeds_capacity
-- resolves_caveat: openb.node_lists_overlap
-- resolves_caveat: openb.pending_has_no_schedule
-- resolves_caveat: openb.pending_is_withdrawn
-- resolves_caveat: openb.times_from_first_pod
-- chart: line x=day y=mean_held_gpus yname=mean_allocated_gpus partial=last title=Allocated GPUs per day (openb pods)
-- column: day [no unit]: Day of 86,400 s on the clock of the pod list, counted from 0
-- column: covered_h: Time of the day between the first creation and the last deletion of the pod list
-- column: mean_pods: Mean number of running pods over the time covered
-- column: peak_pods: Largest number of pods running at once
-- column: held_gpus: GPUs held by running pods
-- column: held_cpus: CPU cores held by running pods
-- column: held_memory_gib: Memory held by running pods
-- column: gpu_capacity_pct: GPUs held in percent of the GPUs of the GPU nodes
-- column: cpu_capacity_pct: CPU cores held in percent of those of all nodes
-- column: memory_capacity_pct: Memory held in percent of that of all nodes
create or replace macro openb.use_by_day(
    in_variant varchar := 'default',
    -- first day to include; all but 19 pods of the default list come after day 110 [0 to 149]
    from_day bigint := 110
) as table
with pods as (
    select
        creation_time,
        scheduled_time,
        deletion_time,
        num_gpu * gpu_milli as gpu_milli,
        cpu_milli,
        memory_mib
    from openb.pod
    where variant = in_variant
),

span as (
    select
        min(creation_time) as first_s,
        max(deletion_time) as last_s,
        -- The memory of no pods; NULL in lists without memory.
        case when count(memory_mib) > 0 then 0 end as no_memory_mib
    from pods
),

-- The first day starts with the first creation, although no pod runs yet.
edges as (
    select
        first_s as from_s,
        0 as pods,
        0 as gpu_milli,
        0 as cpu_milli,
        no_memory_mib as memory_mib
    from span
    union all
    select
        scheduled_time as from_s,
        1 as pods,
        gpu_milli,
        cpu_milli,
        memory_mib
    from pods
    where scheduled_time is not null and deletion_time is not null
    union all
    select
        deletion_time as from_s,
        -1 as pods,
        -gpu_milli as gpu_milli,
        -cpu_milli as cpu_milli,
        -memory_mib as memory_mib
    from pods
    where scheduled_time is not null and deletion_time is not null
),

-- Changes within one second apply together: a pod that ends and one that starts do not overlap.
changes as (
    select
        edges.from_s,
        sum(edges.pods) as pods,
        sum(edges.gpu_milli) as gpu_milli,
        sum(edges.cpu_milli) as cpu_milli,
        sum(edges.memory_mib) as memory_mib
    from edges
    where edges.from_s is not null
    group by edges.from_s
),

steps as (
    select
        changes.from_s,
        coalesce(lead(changes.from_s) over (order by changes.from_s), span.last_s) as to_s,
        sum(changes.pods) over so_far as running_pods,
        sum(changes.gpu_milli) over so_far as gpu_milli,
        sum(changes.cpu_milli) over so_far as cpu_milli,
        sum(changes.memory_mib) over so_far as memory_mib
    from changes
    cross join span
    window so_far as (order by changes.from_s rows between unbounded preceding and current row)
),

parts as (
    select
        *,
        unnest(
            generate_series(
                cast(floor(from_s / 86400) as bigint), cast(floor((to_s - 1) / 86400) as bigint)
            )
        ) as day
    from steps
    where to_s > from_s
),

timed as (
    select
        day,
        least(to_s, 86400 * (day + 1)) - greatest(from_s, 86400 * day) as part_s,
        running_pods,
        gpu_milli,
        cpu_milli,
        memory_mib
    from parts
    where day >= from_day
),

days as (
    select
        day,
        sum(part_s) as covered_s,
        sum(part_s * running_pods) / nullif(sum(part_s), 0) as mean_pods,
        max(running_pods) as peak_pods,
        sum(part_s * gpu_milli) / 1000.0 / nullif(sum(part_s), 0) as mean_held_gpus,
        max(gpu_milli) / 1000.0 as peak_held_gpus,
        sum(part_s * cpu_milli) / 1000.0 / nullif(sum(part_s), 0) as mean_held_cpus,
        max(cpu_milli) / 1000.0 as peak_held_cpus,
        sum(part_s * memory_mib) / 1024.0 / nullif(sum(part_s), 0) as mean_held_memory_gib,
        max(memory_mib) / 1024.0 as peak_held_memory_gib
    from timed
    group by day
),

capacity as (
    select
        sum(gpus) filter (where node_list = 'gpu_node') as gpus,
        stats.fsum(case when node_list = 'all_node' then cpus end) as cpus,
        stats.fsum(case when node_list = 'all_node' then memory_gib end) as memory_gib
    from openb.capacity
)

select
    days.day,
    days.covered_s / 3600.0 as covered_h,
    days.mean_pods,
    cast(days.peak_pods as bigint) as peak_pods,
    days.mean_held_gpus,
    days.peak_held_gpus,
    days.mean_held_cpus,
    days.peak_held_cpus,
    days.mean_held_memory_gib,
    days.peak_held_memory_gib,
    100.0 * days.mean_held_gpus / nullif(capacity.gpus, 0) as mean_gpu_capacity_pct,
    100.0 * days.peak_held_gpus / nullif(capacity.gpus, 0) as peak_gpu_capacity_pct,
    100.0 * days.mean_held_cpus / nullif(capacity.cpus, 0) as mean_cpu_capacity_pct,
    100.0 * days.peak_held_cpus / nullif(capacity.cpus, 0) as peak_cpu_capacity_pct,
    100.0 * days.mean_held_memory_gib / nullif(capacity.memory_gib, 0) as mean_memory_capacity_pct,
    100.0 * days.peak_held_memory_gib / nullif(capacity.memory_gib, 0) as peak_memory_capacity_pct
from days
cross join capacity
order by days.day;

comment on macro table openb.use_by_day is
'Resources that the pods of a list hold from scheduling to deletion, per day of 86,400 seconds of the '
'list''s clock, which starts at the creation of the first pod (of the second pod in gpushare20, 60, 80 '
'and 100): pods, GPUs (including fractions), CPU cores and GiB of memory requested, as time-weighted mean '
'and as peak, and the last three in percent of the cluster. The GPU capacity is that of the list of GPU '
'nodes, CPU and memory that of the list of all nodes. covered_h is the part of the day between the first '
'creation and the last deletion of the list; means are taken over that part, so the incomplete last day '
'is not too low. A day in between without running pods has 0. Pods that were never scheduled hold '
'nothing. A pod counts on every day on which it runs; a pod that is deleted in the second of its '
'scheduling does not count. Days before from_day are left out. The result is empty if the list has no '
'times.';
