-- Free GPUs requested by waiting jobs (GPU jobs per trace)
-- resolves_caveat: asi.lives_in_whole_hours
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: asi.standby_counts_twice
-- resolves_caveat: openb.times_from_first_pod
-- column: trace_cluster: Trace and cluster in one text
-- column: hour_start_s: Start of the hour on the clock of the trace
-- column: free_gpus: GPUs of the capacity that no job holds
-- column: idle_while_queued_gpus: The smaller of free_gpus and queued_gpus: free GPUs that waiting jobs request
-- chart: line x=hour_start_s y=idle_while_queued_gpus facet=trace+cluster partial=first,last yname=free_gpus_that_waiting_jobs_request note=The smaller of free GPUs and GPUs that waiting jobs request, mean per hour; whether they fit is not checked.
create or replace macro unified.idle_while_queued(
    in_trace varchar := null,
    from_hour bigint := null
) as table
with known as (
    select
        trace,
        cluster,
        hour,
        capacity_gpus,
        held_gpus,
        queued_jobs,
        queued_gpus,
        greatest(capacity_gpus - held_gpus, 0) as free_gpus
    from unified.allocation_hour
    where
        stats.is_chosen(trace, in_trace)
        -- DuckDB filters the jobs for `= false`, but the finished rows for `not`.
        and is_by_partition = false
        and is_offered = false
        and capacity_gpus is not null
        and queued_gpus is not null
        and hour >= coalesce(from_hour, stats.first_hour(trace))
)

select
    trace,
    cluster,
    concat_ws(' ', trace, cluster) as trace_cluster,
    hour,
    3600 * hour as hour_start_s,
    capacity_gpus,
    held_gpus,
    queued_jobs,
    queued_gpus,
    free_gpus,
    least(free_gpus, queued_gpus) as idle_while_queued_gpus
from known
order by trace, cluster nulls first, hour;

comment on macro table unified.idle_while_queued is
'GPUs that are free while GPU jobs wait, per cluster and hour of the clock of each trace. held_gpus, '
'queued_jobs and queued_gpus, the GPUs that the waiting jobs request, are means over the hour, as in '
'unified.allocation_hourly. free_gpus are the GPUs of the capacity that no job holds, 0 if jobs hold '
'more than the capacity; idle_while_queued_gpus is the smaller of free_gpus and queued_gpus. It is an '
'upper bound of what a better scheduler could use: the free GPUs may be spread over nodes, of another '
'type than the jobs require, or outside the quota of their users, and jobs may wait in one part of an '
'hour and GPUs be free in another. Only hours with a known capacity and a known queue are rows, so that '
'ITP, ASI, DLRM and spot have none. Jobs without known times are missing: see placed_pct of '
'unified.idle_while_queued_share. Hours before from_hour are hidden, but jobs that began earlier count.';
