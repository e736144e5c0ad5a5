-- Share of failed tasks over the trace (PAI tasks)
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: pai.notebook_week_starts_later
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: pai.status_mix_drifts
-- resolves_caveat: pai.task_status_from_instances
-- chart: bar x=part y=failed_pct xname=part_of_the_trace yname=failed_tasks_pct note=Parts follow each other in time and have equally many tasks.
-- column: part [no unit]: Part of the trace, from 1
-- column: tasks: Tasks that started in the part
-- column: failed_tasks: Tasks that failed
-- column: failed_pct: Share of the tasks that failed
-- column: gpu_failed_pct: Share of the tasks with a GPU that failed
-- column: cpu_failed_pct: Share of the tasks without a GPU that failed
create or replace macro pai.failures_over_time(
    -- number of parts of the trace [1 to 10000]
    in_parts integer := 4,
    -- parts of equal length instead of parts with equally many tasks
    by_time boolean := false
) as table
with parts as (
    select unnest(generate_series(1, in_parts)) as part
),

-- One row for tasks with the same start, which are always in the same part.
started as (
    select
        start_time,
        status = 'Failed' as is_failed,
        coalesce(plan_gpu, 0) > 0 as requests_gpu,
        count(*) as tasks
    from pai.task
    where start_time > 0
    group by all
),

times as (
    select
        start_time,
        sum(tasks) as tasks
    from started
    group by start_time
),

-- The part of the trace before each start, and the whole trace: in seconds or in tasks.
passed as (
    select
        start_time,
        case
            when by_time then start_time - min(start_time) over ()
            else sum(tasks) over (order by start_time) - tasks
        end as before_it,
        case
            when by_time then max(start_time) over () - min(start_time) over ()
            else sum(tasks) over ()
        end as in_all
    from times
),

-- With by_time, the last start coincides with the end of the last part and belongs to it.
placed as (
    select
        start_time,
        least(in_parts, 1 + floor(coalesce(before_it * in_parts / nullif(in_all, 0), 0))) as part
    from passed
),

counted as (
    select
        placed.part,
        sum(started.tasks) as tasks,
        sum(started.tasks) filter (where started.is_failed) as failed,
        sum(started.tasks) filter (where started.requests_gpu) as gpu_tasks,
        sum(started.tasks) filter (where started.is_failed and started.requests_gpu) as gpu_failed,
        sum(started.tasks) filter (where started.is_failed and not started.requests_gpu) as cpu_failed
    from started
    inner join placed on started.start_time = placed.start_time
    group by placed.part
)

select
    parts.part,
    cast(coalesce(counted.tasks, 0) as bigint) as tasks,
    cast(coalesce(counted.failed, 0) as bigint) as failed_tasks,
    100.0 * coalesce(counted.failed, 0) / nullif(counted.tasks, 0) as failed_pct,
    100.0 * coalesce(counted.gpu_failed, 0) / nullif(counted.gpu_tasks, 0) as gpu_failed_pct,
    100.0 * coalesce(counted.cpu_failed, 0)
    / nullif(counted.tasks - coalesce(counted.gpu_tasks, 0), 0) as cpu_failed_pct
from parts
left join counted on parts.part = counted.part
order by parts.part;

comment on macro table pai.failures_over_time is
'Tasks in order of their start, split into parts of the trace: tasks, failed tasks, and the share that '
'failed of all tasks, of tasks that request a GPU and of tasks that do not. Parts have equally many tasks '
'(tasks with the same start stay in one part) or, with by_time, equal length. Tasks without a start are '
'left out.';
