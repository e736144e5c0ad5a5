-- Requested compared with used resources (PAI tasks)
-- resolves_caveat: pai.gpu_use_over_100
-- chart: bar x=resource y=used_less_pct yname=tasks_that_use_less_pct title=Tasks that use less than they request (PAI tasks)
-- column: resource: Resource
-- column: tasks: Tasks with a request, sensor data and a known machine
-- column: used_less_pct: Share of the tasks that used less than requested
-- column: used_more_pct: Share of the tasks that used more than requested
-- column: median_margin_of_capacity [ratio]: Median of requested minus used, divided by the capacity of the machine
create or replace macro pai.plan_against_usage(
    -- smallest number of workers with sensor data of a task to include [1 to 100000]
    min_workers integer := 1
) as table
with tasks as (
    select
        cpu_margin_of_capacity,
        gpu_margin_of_capacity,
        memory_margin_of_capacity
    from pai.task_usage
    where workers >= min_workers
),

resources as (
    select unnest(['cpu', 'gpu', 'memory']) as resource
),

margins as (
    select
        resources.resource,
        case resources.resource
            when 'cpu' then tasks.cpu_margin_of_capacity
            when 'gpu' then tasks.gpu_margin_of_capacity
            else tasks.memory_margin_of_capacity
        end as margin
    from resources
    -- Left join: each resource has a row, even if no task has that many workers.
    left join tasks on true
)

select
    resource,
    count(margin) as tasks,
    100.0 * count(*) filter (where margin > 0) / nullif(count(margin), 0) as used_less_pct,
    100.0 * count(*) filter (where margin < 0) / nullif(count(margin), 0) as used_more_pct,
    median(margin) as median_margin_of_capacity
from margins
group by resource
order by resource;

comment on macro table pai.plan_against_usage is 'Share of tasks whose workers used less, or more, CPU, GPU and memory than requested, and the median of request minus use in shares of a machine. Only tasks with a request, sensor data and a known machine count.';
