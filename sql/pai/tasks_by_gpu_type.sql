-- Tasks and failures by GPU type (PAI tasks)
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.task_status_from_instances
-- chart: bar x=gpu_type y=share_pct yname=tasks_pct title=Share of tasks by GPU type (PAI tasks)
-- column: tasks: Tasks to which the type was assigned
-- column: share_pct: Share of the total
-- column: failed_pct: Share of the tasks that failed
create or replace macro pai.tasks_by_gpu_type(gpu_only boolean := true) as table
with types as (
    select
        gpu_type,
        count(*) as tasks,
        count(*) filter (where status = 'Failed') as failed
    from pai.task
    where gpu_type is not null and (not gpu_only or plan_gpu > 0)
    group by gpu_type
)

select
    gpu_type,
    types.tasks,
    100.0 * types.tasks / sum(types.tasks) over () as share_pct,
    100.0 * types.failed / types.tasks as failed_pct
from types
order by types.tasks desc, gpu_type asc;

comment on macro table pai.tasks_by_gpu_type is 'Tasks per assigned GPU type, their share of all tasks with a type, and the share of them that failed.';
