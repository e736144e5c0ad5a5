-- Recurrence distribution (PAI tasks)
-- caveat: pai.group_falls_back_to_user
-- chart: line x=at_least:log y=tasks_pct xname=at_least_this_many_tasks_in_the_group
-- column: at_least [no unit]: Least size of a gang, or least number of tasks, that is counted
-- column: tasks: Tasks whose group, or user without a group, has at least this number of tasks
-- column: tasks_pct: Share of the tasks with a group or a user
create or replace macro pai.group_recurrence(
    -- also count tasks whose job has no group, grouped by user
    with_flagged boolean := true
) as table
with recurrences as (
    select unnest([1, 2, 5, 10, 50, 100, 1000]) as at_least
),

keyed as (
    select
        coalesce(group_id, user_id) as recurrence_key,
        count(*) as occurrences
    from pai.task_run
    where coalesce(group_id, user_id) is not null and (with_flagged or group_id is not null)
    group by recurrence_key
),

-- Groups by number of tasks, because there are hundreds of thousands of groups.
sized as (
    select
        occurrences,
        sum(occurrences) as tasks
    from keyed
    group by occurrences
),

reached as (
    select
        recurrences.at_least,
        coalesce(sum(sized.tasks) filter (where sized.occurrences >= recurrences.at_least), 0) as tasks,
        sum(sized.tasks) as all_tasks
    from recurrences
    left join sized on true
    group by recurrences.at_least
)

select
    at_least,
    cast(tasks as bigint) as tasks,
    100.0 * tasks / nullif(all_tasks, 0) as tasks_pct
from reached
order by at_least;

comment on macro table pai.group_recurrence is 'Tasks whose group (or user, for tasks without a group) has at least the given number of tasks, and their share of all tasks with a group or user.';
