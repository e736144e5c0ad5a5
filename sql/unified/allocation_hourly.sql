-- Held and queued GPUs per hour (GPU jobs per trace)
-- column: trace_cluster: Trace and cluster in one text, for the chart
-- chart: line x=hour_start_s y=held_gpus color=partition_name rule=capacity_gpus facet=trace_cluster title=Held GPUs per hour (GPU jobs per trace)
create or replace macro unified.allocation_hourly(
    in_trace varchar := null,
    -- one row per partition of a cluster, such as the GPU types of PAI
    by_partition boolean := false,
    from_hour bigint := null,
    -- let each job start at its submission; the only load of traces without queueing delays, such as ITP
    offered boolean := false
) as table
with started as (
    select
        trace,
        cluster,
        submit_s,
        submit_s + observed_wait_s as waited_until_s,
        requested_gpus,
        observed_run_s,
        held_gpu_s,
        case when by_partition then partition_name end as partition_name,
        case
            when offered and not coalesce(is_left_censored, false) then submit_s
            else observed_start_s
        end as start_s
    from unified.jobs
    where (in_trace is null or trace = in_trace) and requested_gpus > 0
),

-- Not all instances of a job run from its start to its end: spreads its GPU time evenly over the time it was seen running.
jobs as (
    select
        trace,
        cluster,
        partition_name,
        submit_s,
        start_s,
        start_s + observed_run_s as stop_s,
        waited_until_s,
        requested_gpus,
        coalesce(held_gpu_s / nullif(observed_run_s, 0), 0) as held_gpus
    from started
),

spans as (
    select
        trace,
        cluster,
        partition_name,
        start_s as from_s,
        stop_s as to_s,
        1 as running_jobs,
        held_gpus,
        0 as queued_jobs,
        cast(0 as double) as queued_gpus
    from jobs
    where start_s is not null and stop_s is not null
    union all
    select
        trace,
        cluster,
        partition_name,
        submit_s as from_s,
        waited_until_s as to_s,
        0 as running_jobs,
        cast(0 as double) as held_gpus,
        1 as queued_jobs,
        requested_gpus as queued_gpus
    from jobs
    where not offered and waited_until_s is not null
),

edges as (
    select
        trace,
        cluster,
        partition_name,
        from_s as at_s,
        running_jobs,
        held_gpus,
        queued_jobs,
        queued_gpus
    from spans
    union all
    select
        trace,
        cluster,
        partition_name,
        to_s as at_s,
        -running_jobs as running_jobs,
        -held_gpus as held_gpus,
        -queued_jobs as queued_jobs,
        -queued_gpus as queued_gpus
    from spans
),

placed as (
    select
        trace,
        cluster,
        partition_name,
        cast(floor(at_s / 3600) as bigint) as hour,
        at_s - 3600 * floor(at_s / 3600) as before_s,
        running_jobs,
        held_gpus,
        queued_jobs,
        queued_gpus
    from edges
),

-- A change applies from its hour on, less the part of that hour before the change.
hourly_changes as (
    select
        trace,
        cluster,
        partition_name,
        hour,
        sum(running_jobs) as running_jobs,
        stats.fsum(running_jobs * before_s) as running_job_s_before,
        stats.fsum(held_gpus) as held_gpus,
        stats.fsum(held_gpus * before_s) as held_gpu_s_before,
        sum(queued_jobs) as queued_jobs,
        stats.fsum(queued_jobs * before_s) as queued_job_s_before,
        stats.fsum(queued_gpus) as queued_gpus,
        stats.fsum(queued_gpus * before_s) as queued_gpu_s_before
    from placed
    group by trace, cluster, partition_name, hour
),

unended as (
    select
        trace,
        cluster,
        partition_name,
        cast(floor(start_s / 3600) as bigint) as hour,
        count(*) as unended_jobs
    from jobs
    where start_s is not null and stop_s is null
    group by trace, cluster, partition_name, cast(floor(start_s / 3600) as bigint)
),

partitions as (
    select
        trace,
        cluster,
        partition_name,
        100.0 * count(coalesce(stop_s, case when start_s is null then waited_until_s end)) / count(*)
            as placed_pct
    from jobs
    group by trace, cluster, partition_name
),

capacities as (
    select
        trace,
        cluster,
        case when by_partition then partition_name end as partition_name,
        gpus
    from unified.capacity
    where in_trace is null or trace = in_trace
),

capacity as (
    select
        trace,
        cluster,
        partition_name,
        cast(sum(gpus) as bigint) as capacity_gpus
    from capacities
    group by trace, cluster, partition_name
),

-- Servers come and go during a long trace.
hourly_capacities as (
    select
        hour,
        trace,
        cluster,
        case when by_partition then partition_name end as partition_name,
        gpus
    from unified.capacity_hour
    where in_trace is null or trace = in_trace
),

hourly_capacity as (
    select
        hour,
        trace,
        cluster,
        partition_name,
        cast(sum(gpus) as bigint) as capacity_gpus
    from hourly_capacities
    group by hour, trace, cluster, partition_name
),

-- Without submissions it is unknown which jobs wait.
queues as (
    select
        trace,
        count(case when not offered then waited_until_s end) > 0 as are_shown
    from jobs
    group by trace
),

bounds as (
    select
        trace,
        cast(floor(min(least(submit_s, start_s)) / 3600) as bigint) as first_hour,
        cast(floor(max(greatest(submit_s, start_s, stop_s, waited_until_s)) / 3600) as bigint) as last_hour
    from jobs
    group by trace
    having count(case when offered then submit_s else start_s end) > 0
),

hours as (
    select
        trace,
        unnest(generate_series(first_hour, last_hour)) as hour
    from bounds
),

running as (
    select
        partitions.trace,
        partitions.cluster,
        partitions.partition_name,
        hours.hour,
        partitions.placed_pct,
        queues.are_shown as is_queue_shown,
        3600 * sum(coalesce(changes.running_jobs, 0)) over so_far
        - coalesce(changes.running_job_s_before, 0) as running_job_s,
        3600 * sum(stats.exact(coalesce(changes.held_gpus, 0))) over so_far
        - coalesce(changes.held_gpu_s_before, 0) as held_gpu_s,
        3600 * sum(coalesce(changes.queued_jobs, 0)) over so_far
        - coalesce(changes.queued_job_s_before, 0) as queued_job_s,
        3600 * sum(stats.exact(coalesce(changes.queued_gpus, 0))) over so_far
        - coalesce(changes.queued_gpu_s_before, 0) as queued_gpu_s
    from hours
    inner join partitions on hours.trace = partitions.trace
    inner join queues on hours.trace = queues.trace
    left join hourly_changes as changes
        on
            hours.hour = changes.hour
            and partitions.trace = changes.trace
            and partitions.cluster is not distinct from changes.cluster
            and partitions.partition_name is not distinct from changes.partition_name
    window so_far as (
        partition by partitions.trace, partitions.cluster, partitions.partition_name
        order by hours.hour
        rows between unbounded preceding and current row
    )
),

-- There is no queue if no job waits.
means as (
    select
        trace,
        cluster,
        partition_name,
        hour,
        placed_pct,
        running_job_s / 3600.0 as running_jobs,
        held_gpu_s / 3600.0 as held_gpus,
        case when is_queue_shown then queued_job_s / 3600.0 end as queued_jobs,
        case when is_queue_shown then queued_gpu_s / 3600.0 end as queued_gpus
    from running
    where hour >= coalesce(from_hour, case when trace = 'openb' then 2640 else 0 end)
),

compared as (
    select
        means.trace,
        means.cluster,
        means.partition_name,
        means.hour,
        means.running_jobs,
        means.held_gpus,
        means.queued_jobs,
        means.queued_gpus,
        means.placed_pct,
        coalesce(hourly_capacity.capacity_gpus, capacity.capacity_gpus) as capacity_gpus
    from means
    left join capacity
        on
            means.trace = capacity.trace
            and means.cluster is not distinct from capacity.cluster
            and means.partition_name is not distinct from capacity.partition_name
    left join hourly_capacity
        on
            means.trace = hourly_capacity.trace
            and means.hour = hourly_capacity.hour
            and means.cluster is not distinct from hourly_capacity.cluster
            and means.partition_name is not distinct from hourly_capacity.partition_name
)

select
    compared.trace,
    compared.cluster,
    compared.partition_name,
    concat_ws(' ', compared.trace, compared.cluster) as trace_cluster,
    compared.hour,
    3600 * compared.hour as hour_start_s,
    compared.running_jobs,
    compared.held_gpus,
    compared.queued_jobs,
    compared.queued_gpus,
    coalesce(unended.unended_jobs, 0) as unended_jobs,
    compared.placed_pct,
    compared.capacity_gpus,
    100.0 * compared.held_gpus / nullif(compared.capacity_gpus, 0) as held_of_capacity_pct
from compared
left join unended
    on
        compared.trace = unended.trace
        and compared.hour = unended.hour
        and compared.cluster is not distinct from unended.cluster
        and compared.partition_name is not distinct from unended.partition_name
order by compared.trace, compared.cluster nulls first, compared.partition_name nulls first, compared.hour;

comment on macro table unified.allocation_hourly is
'GPU jobs per hour of the clock of each trace and per cluster, or per cluster and partition with '
'by_partition. Each has a row for every hour from the first to the last hour in which any of the jobs of '
'the trace is submitted, starts, ends or is last seen. All figures are means over the hour; each job '
'counts for the seconds it covers. running_jobs and held_gpus cover jobs while they are seen running: '
'from their start, or from the beginning of the trace if they ran before, to their end, or to the last '
'time that they are known to have run if the trace does not contain it (as a rule the end of the trace). '
'A job holds its GPU-hours spread evenly over that time, so that held_gpus over all hours add up to the '
'held_gpu_s of unified.jobs. queued_jobs and queued_gpus, the GPUs that they request, cover jobs while '
'they are seen waiting: from submission to start, to the withdrawal, or to the end of the trace. With '
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
