-- Held and queued GPUs per hour (GPU jobs per trace)
-- resolves_caveat: openb.times_from_first_pod
-- column: trace_cluster: Trace and cluster in one text
-- column: hour_start_s: Start of the hour on the clock of the trace
-- column: held_of_capacity_pct: Held GPUs in percent of the capacity
-- chart: line x=hour_start_s y=held_gpus color=partition_name rule=capacity_gpus facet=trace+cluster partial=first,last title=Held GPUs per hour (GPU jobs per trace)
create or replace macro unified.allocation_hourly(
    in_trace varchar := null,
    -- one row per partition of a cluster, such as the GPU types of PAI
    by_partition boolean := false,
    from_hour bigint := null,
    -- let each job start at its submission; the only load of traces without queueing delays, such as ITP
    offered boolean := false
) as table
select
    trace,
    cluster,
    partition_name,
    concat_ws(' ', trace, cluster) as trace_cluster,
    hour,
    3600 * hour as hour_start_s,
    running_jobs,
    held_gpus,
    queued_jobs,
    queued_gpus,
    unended_jobs,
    placed_pct,
    capacity_gpus,
    100.0 * held_gpus / nullif(capacity_gpus, 0) as held_of_capacity_pct
from unified.allocation_hour
where
    stats.is_chosen(trace, in_trace)
    and is_by_partition = by_partition
    and is_offered = offered
    and hour >= coalesce(from_hour, stats.first_hour(trace))
order by trace, cluster nulls first, partition_name nulls first, hour;

comment on macro table unified.allocation_hourly is
'GPU jobs per hour of the clock of each trace and per cluster, or per cluster and partition with '
'by_partition. Each has a row for every hour from the first to the last hour in which any of the jobs of '
'the trace is submitted, starts, ends or is last seen. All figures are means over the hour; each job '
'counts for the seconds it covers. running_jobs and held_gpus cover jobs while they are seen running: '
'from their start, or from the beginning of the trace if they ran before, to their end, or to the last '
'time that they are known to have run if the trace does not contain it (as a rule the end of the trace). '
'A job holds its GPU-hours spread evenly over that time, so that held_gpus over all hours add up to the '
'held_gpu_s of unified.jobs. queued_jobs and queued_gpus, the GPUs that they request, cover jobs while '
'they are seen waiting: from submission to start, to the withdrawal (Acme, Helios, openb), or to the end of the trace '
'(DLRM). Jobs of other traces that never started are missing from the queue. With '
'offered, each job starts at its submission, or at the beginning of the trace if it ran before, the queue '
'is NULL, and held_gpus may exceed the capacity; otherwise a trace without recorded starts has no rows, '
'and with offered one without recorded submissions, such as ASI. The queue is NULL as well where no job '
'has a recorded wait after a submission. A job that started but of which no later time is known is left '
'out from its start on; unended_jobs counts such jobs by the hour of their start. placed_pct is the '
'percentage of GPU jobs of the cluster or partition that are placed with a start and an end, or as '
'waiting without a start; the others are missing in part or completely. capacity_gpus counts the GPUs of '
'the cluster or partition (for ITP, those of a simulation; for ASI, those of the hour), NULL where the '
'trace has none of that name; held_of_capacity_pct is held_gpus in percent of them. Hours before '
'from_hour are hidden, but jobs that began earlier count.';
