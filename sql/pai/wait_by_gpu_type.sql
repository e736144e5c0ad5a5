-- Queueing delay by GPU type (PAI tasks)
-- caveat: pai.tasks_without_instances
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.gpu_type_null
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- chart: box x=gpu_type y=wait_s:log
-- column: tasks: Started tasks to which the type was assigned
-- column: never_started_tasks: Tasks without a launch, or without a launched instance
create or replace macro pai.wait_by_gpu_type(
    -- smallest number of requested GPUs per instance of a task to include [0 to 1000]
    min_gpus double := 0.01
) as table
with requested as (
    select
        gpu_type,
        count(*) as tasks
    from pai.task
    where plan_gpu / 100.0 >= min_gpus
    group by gpu_type
),

delays as (
    select
        gpu_type,
        count(*) as tasks,
        stats.percentiles(wait_s) as wait_s
    from pai.task_wait
    where requested_gpus_per_instance >= min_gpus
    group by gpu_type
)

select
    requested.gpu_type,
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
left join delays on requested.gpu_type is not distinct from delays.gpu_type
order by requested.gpu_type;

comment on macro table pai.wait_by_gpu_type is 'Started tasks, and interpolated percentiles of their queueing delay from the launch of the task to the launch of its first instance, per assigned GPU type. never_started_tasks have no launch or no launched instance, so no percentile includes them.';
