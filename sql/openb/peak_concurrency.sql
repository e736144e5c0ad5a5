-- Peak and mean allocated GPUs (openb pods)
-- caveat: openb.pods_are_not_all_load
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.multigpu_demand_exceeds_capacity
-- resolves_caveat: openb.node_lists_overlap
-- resolves_caveat: openb.not_a_snapshot
-- resolves_caveat: openb.pending_has_no_schedule
-- resolves_caveat: openb.pending_is_withdrawn
-- resolves_caveat: openb.running_outcome_unknown
-- column: used_gpus: GPUs in use
-- column: peak_at_s: First second of the peak, on the clock of the trace
-- column: capacity_pct: Share of the capacity
-- column: running_at_end [pods]: Pods that still ran when the trace ended
create or replace macro openb.peak_concurrency(in_variant varchar := 'default') as table
with steps as (
    select
        from_s,
        used_gpus,
        used_gpus * (to_s - from_s) as gpu_s,
        row_number() over (order by used_gpus desc, from_s asc) as place
    from openb.concurrency
    where variant = in_variant
),

used as (
    select
        max(used_gpus) as peak_used_gpus,
        max(from_s) filter (where place = 1) as peak_at_s,
        stats.fsum(gpu_s) as gpu_s
    from steps
),

pods as (
    select
        pod_phase,
        creation_time,
        deletion_time,
        max(deletion_time) over () as last_deletion_time
    from openb.pod
    where variant = in_variant
),

span as (
    select
        max(deletion_time) - min(creation_time) as span_s,
        sum(cast(pod_phase = 'Running' and deletion_time = last_deletion_time as bigint)) as running_at_end
    from pods
),

capacity as (
    select sum(gpus) as gpus
    from openb.capacity
    where node_list = 'gpu_node'
)

select
    used.peak_used_gpus,
    used.peak_at_s,
    100.0 * used.peak_used_gpus / nullif(capacity.gpus, 0) as capacity_pct,
    used.gpu_s / nullif(span.span_s, 0) as mean_used_gpus,
    used.gpu_s / 3600 as gpu_h,
    cast(span.running_at_end as bigint) as running_at_end
from used
cross join span
cross join capacity;

comment on macro table openb.peak_concurrency is 'Largest number of GPUs used at once, the first second of that peak and its share of the capacity; mean from the first creation to the last deletion; GPU-hours; and pods that still ran when the trace ended.';
