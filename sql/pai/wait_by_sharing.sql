-- Queueing delay on shared and whole GPUs (PAI GPU tasks)
-- caveat: pai.tasks_without_instances
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- chart: box x=request y=wait_s:log
-- column: request: What is requested for each instance
-- column: tasks: Started GPU tasks
-- column: never_started_tasks: Tasks without a launch, or without a launched instance
create or replace macro pai.wait_by_sharing() as table
with requested as (
    select
        case when plan_gpu < 100 then 'shared GPU' else 'whole GPUs' end as request,
        count(*) as tasks
    from pai.task
    where plan_gpu > 0
    group by all
),

waits as (
    select
        case when requested_gpus_per_instance < 1 then 'shared GPU' else 'whole GPUs' end as request,
        wait_s
    from pai.task_wait
    where requested_gpus_per_instance > 0
),

delays as (
    select
        request,
        count(*) as tasks,
        stats.percentiles(wait_s) as wait_s
    from waits
    group by request
)

select
    requested.request,
    coalesce(delays.tasks, 0) as tasks,
    requested.tasks - coalesce(delays.tasks, 0) as never_started_tasks,
    delays.wait_s.p5 as p5_wait_s,
    delays.wait_s.p25 as p25_wait_s,
    delays.wait_s.median as median_wait_s,
    delays.wait_s.p75 as p75_wait_s,
    delays.wait_s.p90 as p90_wait_s,
    delays.wait_s.p95 as p95_wait_s,
    delays.wait_s.p99 as p99_wait_s
from requested
left join delays on requested.request = delays.request
order by requested.request;

comment on macro table pai.wait_by_sharing is
'Started GPU tasks, and interpolated percentiles of their queueing delay from the launch of the task to '
'the launch of its first instance: tasks that request less than one GPU per instance, and tasks that '
'request one or more. never_started_tasks have no launch or no launched instance, so no percentile '
'includes them.';
