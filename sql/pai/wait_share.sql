-- Queueing delay as a share of turnaround time (PAI tasks)
-- caveat: pai.tasks_without_instances
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: pai.shifted_clock
-- chart: bar x=run_class xname=run_time y=waited_over_pct yname=tasks_that_mostly_waited_pct title=Tasks that waited over half their turnaround (PAI tasks) note=Short tasks run for less time than the limit, long ones for at least as long.
-- column: run_class: Class of the run time: short or long
-- column: tasks: Tasks of the class
-- column: never_started_tasks: Tasks without a launch or a launched instance, the same in each row
-- column: unended_tasks: Tasks that had not ended, or without an instance that did, the same in each row
-- column: waited_over_pct: Share of the tasks whose queueing delay exceeds the given part of the turnaround time
-- column: median_wait_share: Median share of the queueing delay in the turnaround time
create or replace macro pai.wait_share(
    -- a task with a shorter run time is short [0 to 100000000]
    short_below_s double := 3600,
    -- part of the turnaround time above which the queueing delay is long [0 to 1]
    over_half double := 0.5
) as table
with classes as (
    select
        listed.place,
        listed.run_class
    from (
        values
        (1, 'short'),
        (2, 'long')
    ) as listed (place, run_class)
),

-- The queueing delay is that of pai.task_wait.
timed as (
    select
        run_s,
        wait_s
    from pai.task_run
    where submit_s is not null
),

requested as (
    select count(*) as tasks
    from pai.task
),

started as (
    select
        count(*) as tasks,
        count(*) filter (where run_s is null) as unended_tasks
    from timed
    where wait_s is not null
),

shares as (
    select
        case when run_s < short_below_s then 'short' else 'long' end as run_class,
        wait_s / (wait_s + run_s) as wait_share,
        wait_s / (wait_s + run_s) > over_half as waited_over
    from timed
    where wait_s + run_s > 0
),

counted as (
    select
        run_class,
        count(*) as tasks,
        count(*) filter (where waited_over) as waited_over_tasks,
        median(wait_share) as median_wait_share
    from shares
    group by run_class
)

select
    classes.run_class,
    coalesce(counted.tasks, 0) as tasks,
    requested.tasks - started.tasks as never_started_tasks,
    started.unended_tasks,
    100.0 * counted.waited_over_tasks / nullif(counted.tasks, 0) as waited_over_pct,
    counted.median_wait_share
from classes
cross join requested
cross join started
left join counted on classes.run_class = counted.run_class
order by classes.place;

comment on macro table pai.wait_share is
'Share of tasks whose queueing delay exceeds the given part of their turnaround time (queueing delay plus '
'run time), and the median part, for tasks with a short and a long run time; one queueing delay and one '
'run time per task. Tasks without a known run time are in neither class: never_started_tasks have no '
'launch or no launched instance, unended_tasks neither terminated nor failed, or have no instance with an '
'end; both numbers are the same in both rows. Tasks whose queueing delay and run time are both 0 are left '
'out too.';
