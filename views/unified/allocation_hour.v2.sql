-- GPUs held and queued per hour, GPU jobs of all traces, in four ways of counting of which a reader chooses one.
-- grain: one row per (trace, is_by_partition, is_offered, cluster, partition_name, hour), from the first to the last hour with a GPU job of the trace
-- source: views/unified/jobs.v2.sql and views/unified/capacity.v1.sql
-- caveat: asi.undisclosed_models: partition_name
-- caveat: itp.clusters_start_ragged: running_jobs held_gpus
-- caveat: itp.load_starts_empty: running_jobs held_gpus
-- caveat: itp.offered_load_not_occupancy: running_jobs held_gpus
-- caveat: openb.gpu_models_undisclosed: partition_name
-- caveat: pai.misc_is_many_types: partition_name
-- caveat: spot.demand_over_capacity: held_gpus capacity_gpus
-- caveat: spot.models_are_hidden: partition_name
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.delays_below_a_day
-- resolves_caveat: asi.undisclosed_models
-- resolves_caveat: dlrm.times_are_cut_off
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: helios.vc_names_are_shared
-- resolves_caveat: openb.deletion_never_empty
-- resolves_caveat: openb.gpu_models_undisclosed
-- resolves_caveat: pai.misc_is_many_types
-- resolves_caveat: spot.models_are_hidden
create or replace view unified.allocation_hour_v2 as
with partitions_or_not as (
    select unnest([false, true]) as is_by_partition
),

offered_or_not as (
    select unnest([false, true]) as is_offered
),

started as (
    select
        standard.trace,
        partitions_or_not.is_by_partition,
        offered_or_not.is_offered,
        standard.cluster,
        standard.submit_s,
        standard.submit_s + standard.observed_wait_s as waited_until_s,
        standard.requested_gpus,
        standard.observed_run_s,
        standard.held_gpu_s,
        case when partitions_or_not.is_by_partition then standard.partition_name end as partition_name,
        case
            when offered_or_not.is_offered and not coalesce(standard.is_left_censored, false)
                then standard.submit_s
            else standard.observed_start_s
        end as start_s
    from unified.jobs_v2 as standard
    cross join partitions_or_not
    cross join offered_or_not
    where standard.requested_gpus > 0
),

-- Not all instances of a job run from its start to its end: spreads its GPU time evenly over the time it was seen running.
jobs as (
    select
        trace,
        is_by_partition,
        is_offered,
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
        is_by_partition,
        is_offered,
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
        is_by_partition,
        is_offered,
        cluster,
        partition_name,
        submit_s as from_s,
        waited_until_s as to_s,
        0 as running_jobs,
        cast(0 as double) as held_gpus,
        1 as queued_jobs,
        requested_gpus as queued_gpus
    from jobs
    where not is_offered and waited_until_s is not null
),

edges as (
    select
        trace,
        is_by_partition,
        is_offered,
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
        is_by_partition,
        is_offered,
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
        is_by_partition,
        is_offered,
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
        is_by_partition,
        is_offered,
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
    group by trace, is_by_partition, is_offered, cluster, partition_name, hour
),

unended as (
    select
        trace,
        is_by_partition,
        is_offered,
        cluster,
        partition_name,
        cast(floor(start_s / 3600) as bigint) as hour,
        count(*) as unended_jobs
    from jobs
    where start_s is not null and stop_s is null
    group by all
),

partitions as (
    select
        trace,
        is_by_partition,
        is_offered,
        cluster,
        partition_name,
        100.0 * count(coalesce(stop_s, case when start_s is null then waited_until_s end)) / count(*)
            as placed_pct
    from jobs
    group by trace, is_by_partition, is_offered, cluster, partition_name
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
),

-- Servers come and go during a long trace.
hourly_capacities as (
    select
        hourly.hour,
        hourly.trace,
        partitions_or_not.is_by_partition,
        hourly.cluster,
        case when partitions_or_not.is_by_partition then hourly.partition_name end as partition_name,
        hourly.gpus
    from unified.capacity_hour_v1 as hourly
    cross join partitions_or_not
),

hourly_capacity as (
    select
        hour,
        trace,
        is_by_partition,
        cluster,
        partition_name,
        cast(sum(gpus) as bigint) as capacity_gpus
    from hourly_capacities
    group by hour, trace, is_by_partition, cluster, partition_name
),

-- In hours outside of the published ones, their capacity is not known.
changing as (
    select distinct
        trace,
        cluster
    from unified.capacity_hour_v1
),

-- Without submissions it is unknown which jobs wait.
queues as (
    select
        trace,
        is_by_partition,
        is_offered,
        count(case when not is_offered then waited_until_s end) > 0 as are_shown
    from jobs
    group by trace, is_by_partition, is_offered
),

bounds as (
    select
        trace,
        is_by_partition,
        is_offered,
        cast(floor(min(least(submit_s, start_s)) / 3600) as bigint) as first_hour,
        cast(floor(max(greatest(submit_s, start_s, stop_s, waited_until_s)) / 3600) as bigint) as last_hour
    from jobs
    group by trace, is_by_partition, is_offered
    having count(case when is_offered then submit_s else start_s end) > 0
),

hours as (
    select
        trace,
        is_by_partition,
        is_offered,
        unnest(generate_series(first_hour, last_hour)) as hour
    from bounds
),

running as (
    select
        partitions.*,
        hours.hour,
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
    inner join partitions
        on
            hours.trace = partitions.trace
            and hours.is_by_partition = partitions.is_by_partition
            and hours.is_offered = partitions.is_offered
    inner join queues
        on
            hours.trace = queues.trace
            and hours.is_by_partition = queues.is_by_partition
            and hours.is_offered = queues.is_offered
    left join hourly_changes as changes
        on
            hours.hour = changes.hour
            and partitions.trace = changes.trace
            and partitions.is_by_partition = changes.is_by_partition
            and partitions.is_offered = changes.is_offered
            and partitions.cluster is not distinct from changes.cluster
            and partitions.partition_name is not distinct from changes.partition_name
    window so_far as (
        partition by
            partitions.trace,
            partitions.is_by_partition,
            partitions.is_offered,
            partitions.cluster,
            partitions.partition_name
        order by hours.hour
        rows between unbounded preceding and current row
    )
)

-- There is no queue if no job waits. Errors of sums of fractions may be below 0 in an idle hour.
select
    running.trace,
    running.is_by_partition,
    running.is_offered,
    running.cluster,
    running.partition_name,
    running.hour,
    running.running_job_s / 3600.0 as running_jobs,
    greatest(running.held_gpu_s, 0) / 3600.0 as held_gpus,
    case when running.is_queue_shown then running.queued_job_s / 3600.0 end as queued_jobs,
    case when running.is_queue_shown then greatest(running.queued_gpu_s, 0) / 3600.0 end as queued_gpus,
    coalesce(unended.unended_jobs, 0) as unended_jobs,
    running.placed_pct,
    case when changing.trace is null then capacity.capacity_gpus else hourly_capacity.capacity_gpus end
        as capacity_gpus
from running
left join capacity
    on
        running.trace = capacity.trace
        and running.is_by_partition = capacity.is_by_partition
        and running.cluster is not distinct from capacity.cluster
        and running.partition_name is not distinct from capacity.partition_name
left join hourly_capacity
    on
        running.trace = hourly_capacity.trace
        and running.is_by_partition = hourly_capacity.is_by_partition
        and running.hour = hourly_capacity.hour
        and running.cluster is not distinct from hourly_capacity.cluster
        and running.partition_name is not distinct from hourly_capacity.partition_name
left join changing
    on running.trace = changing.trace and running.cluster is not distinct from changing.cluster
left join unended
    on
        running.trace = unended.trace
        and running.is_by_partition = unended.is_by_partition
        and running.is_offered = unended.is_offered
        and running.hour = unended.hour
        and running.cluster is not distinct from unended.cluster
        and running.partition_name is not distinct from unended.partition_name;

comment on column unified.allocation_hour_v2.is_by_partition is 'Whether the row is about a partition; otherwise it is about all partitions of the cluster together; derived.';
comment on column unified.allocation_hour_v2.is_offered is 'Whether each job counts from its submission, as if it never waited; otherwise it counts from its start; derived.';
comment on column unified.allocation_hour_v2.partition_name is 'Partition of the cluster; NULL if partitions are combined; derived.';
comment on column unified.allocation_hour_v2.hour is 'Hour on the clock of the trace, counted from 0 [no unit]; derived.';
comment on column unified.allocation_hour_v2.running_jobs is 'Running jobs, mean over the hour; derived.';
comment on column unified.allocation_hour_v2.held_gpus is 'GPUs held by running jobs, mean over the hour; a job holds its GPU-hours spread evenly over the time it was seen running; derived.';
comment on column unified.allocation_hour_v2.queued_jobs is 'Waiting jobs, mean over the hour; NULL if offered, and where no job of the trace has a recorded wait; derived.';
comment on column unified.allocation_hour_v2.queued_gpus is 'GPUs requested by waiting jobs, mean over the hour; NULL as queued_jobs; derived.';
comment on column unified.allocation_hour_v2.unended_jobs is 'Jobs that start in the hour without a known end, which no other column counts from their start on; derived.';
comment on column unified.allocation_hour_v2.placed_pct is 'Share of the GPU jobs of the cluster or partition with known times of running or waiting, the same in each hour; derived.';
comment on column unified.allocation_hour_v2.capacity_gpus is 'GPUs of the cluster or partition; where they change, those of the hour, NULL in hours for which the trace gives none; NULL where the trace has none of that name; derived.';
