-- What part of their time do PAI's short and long tasks wait?
-- param: short_below_s: a task that runs for less time is a short one
-- range: short_below_s: 0 to 100000000
-- param: over_half: what part of wait and run is much to wait
-- range: over_half: 0 to 1
-- chart: bar x=run_class y=waited_over_pct
create or replace macro pai.wait_share(
    short_below_s double := 3600, over_half double := 0.5
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

-- The wait is that of pai.task_wait; of the instances, only pai.task_run is asked.
timed as (
    select
        run.run_s,
        run.first_start_s - task.start_time as wait_s
    from pai.task_run as run
    inner join pai.task as task on run.job_name = task.job_name and run.task_name = task.task_name
    where task.start_time > 0
),

shares as (
    select
        case when run_s < short_below_s then 'short' else 'long' end as run_class,
        wait_s / (wait_s + run_s) as wait_share,
        wait_s / (wait_s + run_s) > over_half as waited_over
    from timed
    where wait_s + run_s > 0
)

select
    classes.run_class,
    count(shares.wait_share) as tasks,
    100.0 * count(*) filter (where shares.waited_over)
    / nullif(count(shares.wait_share), 0) as waited_over_pct,
    median(shares.wait_share) as median_wait_share
from classes
left join shares on classes.run_class = shares.run_class
group by classes.place, classes.run_class
order by classes.place;

comment on macro table pai.wait_share is 'Share of tasks that waited for a larger part of wait and run than said, and the median part, among tasks of a short and of a long run; one wait and one run per task.';
