-- Share of GPUs free while jobs queue (GPU jobs per trace)
-- resolves_caveat: asi.lives_in_whole_hours
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: asi.standby_counts_twice
-- resolves_caveat: openb.times_from_first_pod
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: philly.log_has_no_zone
-- chart: bar x=trace+cluster y=hours_with_both_pct color=trace xname=cluster yname=hours_with_a_free_gpu_that_a_job_waits_for_pct title=Hours with a free GPU that a job waits for (GPU jobs per trace)
-- column: hours [h]: Hours with a known capacity and a known queue
-- column: hours_with_queue [h]: Hours in which a job waits
-- column: hours_with_both [h]: Hours in which at least one GPU, in the mean over the hour, is free and requested by a waiting job
-- column: hours_with_both_pct: Share of the hours that hours_with_both counts
-- column: idle_while_queued_gpu_h: GPU-hours that are free and requested by waiting jobs
-- column: of_capacity_pct: Share of the GPU-hours of the capacity
-- column: of_queued_pct: Share of the GPU-hours that waiting jobs request
-- column: placed_pct: Share of the GPU jobs with known times of running or waiting
create or replace macro unified.idle_while_queued_share(in_trace varchar := null) as table
with known as (
    select
        trace,
        cluster,
        placed_pct,
        capacity_gpus,
        queued_jobs,
        queued_gpus,
        least(greatest(capacity_gpus - held_gpus, 0), queued_gpus) as idle_while_queued_gpus
    from unified.allocation_hour
    where
        stats.is_chosen(trace, in_trace)
        -- DuckDB filters the jobs for `= false`, but the finished rows for `not`.
        and is_by_partition = false
        and is_offered = false
        and capacity_gpus is not null
        and queued_gpus is not null
        and hour >= stats.first_hour(trace)
),

counted as (
    select
        trace,
        cluster,
        count(*) as hours,
        count(*) filter (where queued_jobs > 0) as hours_with_queue,
        -- The sum that is exactly 1 may be a little less in binary.
        count(*) filter (where round(idle_while_queued_gpus, 6) >= 1) as hours_with_both,
        stats.fsum(idle_while_queued_gpus) as idle_while_queued_gpu_h,
        sum(capacity_gpus) as capacity_gpu_h,
        stats.fsum(queued_gpus) as queued_gpu_h,
        -- The same in each hour.
        min(placed_pct) as placed_pct
    from known
    group by trace, cluster
)

select
    trace,
    cluster,
    hours,
    hours_with_queue,
    hours_with_both,
    100.0 * hours_with_both / hours as hours_with_both_pct,
    idle_while_queued_gpu_h,
    100.0 * idle_while_queued_gpu_h / nullif(capacity_gpu_h, 0) as of_capacity_pct,
    100.0 * idle_while_queued_gpu_h / nullif(queued_gpu_h, 0) as of_queued_pct,
    placed_pct
from counted
order by trace, cluster nulls first;

comment on macro table unified.idle_while_queued_share is
'How much of the GPUs of each cluster is free while GPU jobs wait, over the hours of '
'unified.idle_while_queued, of openb from hour 2640. hours_with_queue are the hours in which a job waits, '
'hours_with_both those in which at least one GPU, in the mean over the hour, is free and requested by a '
'waiting job, hours_with_both_pct their share of all hours. idle_while_queued_gpu_h adds up '
'idle_while_queued_gpus, of_capacity_pct is its share of the GPU-hours of the capacity, and of_queued_pct '
'its share of the GPU-hours that waiting jobs request, NULL if none waits. It is an upper bound: free GPUs '
'need not fit the jobs, by node, type or quota. placed_pct is the percentage of GPU jobs with known times '
'of running or waiting; the held GPUs and the queue lack the others. Traces without a known capacity or '
'queue, such as ITP, ASI, DLRM and spot, have no rows.';
