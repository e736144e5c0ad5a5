-- Queueing delay distribution by GPU type (PAI GPU tasks)
-- caveat: pai.tasks_without_instances
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- chart: step x=wait_s:log y=share_pct color=gpu_type with=every_value yname=tasks_pct note=Share of the tasks that started; others have no queueing delay.
-- column: tasks: Started GPU tasks of the type with at most this queueing delay
-- column: never_started_tasks: GPU tasks of the type without a launch or a launched instance, the same in each row
-- column: share_pct: Share of the total
create or replace macro pai.wait_cdf(every_value boolean := false) as table
with round_waits as (
    select
        unnest([
            0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000,
        ]) as point_s
    where not every_value
),

requested as (
    select
        gpu_type,
        count(*) as tasks
    from pai.task
    where gpu_type is not null and plan_gpu > 0
    group by gpu_type
),

-- Groups tasks by queueing delay, so that the join with the points stays small.
waits as (
    select
        gpu_type,
        wait_s as waited_s,
        count(*) as tasks
    from pai.task_wait
    where gpu_type is not null and requested_gpus_per_instance > 0
    group by gpu_type, wait_s
),

points as (
    select
        requested.gpu_type,
        cast(round_waits.point_s as double) as point_s
    from requested
    cross join round_waits
    union all
    select
        series as gpu_type,
        value as point_s
    from stats.cdf_points('waits', gpu_type, waited_s, tasks)
    where every_value
),

-- Left join: includes types of which no task started.
counted as (
    select
        requested.gpu_type,
        points.point_s,
        max(requested.tasks) as requested_tasks,
        coalesce(sum(waits.tasks), 0) as started_tasks,
        coalesce(sum(waits.tasks) filter (where waits.waited_s <= points.point_s), 0) as tasks
    from requested
    inner join points on requested.gpu_type = points.gpu_type
    left join waits on requested.gpu_type = waits.gpu_type
    group by requested.gpu_type, points.point_s
)

select
    gpu_type,
    point_s as wait_s,
    cast(tasks as bigint) as tasks,
    cast(requested_tasks - started_tasks as bigint) as never_started_tasks,
    100.0 * tasks / nullif(started_tasks, 0) as share_pct
from counted
order by gpu_type, point_s;

comment on macro table pai.wait_cdf is
'Started GPU tasks of an assigned GPU type whose queueing delay, from launch to their first instance, is '
'at most the given value, and their share of the started tasks of the type. never_started_tasks of the '
'type have no launch or no launched instance, so no share includes them; the number is the same in each '
'row. Tasks without a type are left out.';
