-- Requested and assigned GPU types (PAI tasks)
-- caveat: pai.gpu_type_is_assigned
-- resolves_caveat: pai.cpu_machines_in_spec
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.gpu_sharing_needs_device
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.tasks_without_instances
-- chart: stack x=requested_gpu_type y=instances_pct color=machine_gpu_type count=instances title=Requested and assigned GPU types (PAI instances)
-- column: instances: Launches of instances of the tasks
-- column: tasks: Tasks with an instance on machines of the type, or without an instance
create or replace macro pai.requested_against_assigned_type(gpu_only boolean := true) as table
with demand as (
    select
        job_name,
        task_name,
        requested_gpu_type
    from pai.task_run
    where not gpu_only or requested_gpus_per_instance > 0
),

placed as (
    select
        instance.job_name,
        instance.task_name,
        spec.gpu_type as machine_gpu_type,
        count(*) as instances
    from pai.instance as instance
    left join pai.machine_spec as spec on instance.machine = spec.machine
    group by instance.job_name, instance.task_name, spec.gpu_type
),

-- Left join: includes tasks without an instance, which requested a type but got none.
cells as (
    select
        demand.requested_gpu_type,
        placed.machine_gpu_type,
        count(*) as tasks,
        coalesce(sum(placed.instances), 0) as instances
    from demand
    left join placed on demand.job_name = placed.job_name and demand.task_name = placed.task_name
    group by demand.requested_gpu_type, placed.machine_gpu_type
),

-- Not the sum of the cells: a task with instances on several types is in several cells.
requests as (
    select
        requested_gpu_type,
        count(*) as tasks
    from demand
    group by requested_gpu_type
)

select
    cells.requested_gpu_type,
    cells.machine_gpu_type,
    cells.tasks,
    100.0 * cells.tasks / requests.tasks as tasks_pct,
    cast(cells.instances as bigint) as instances,
    100.0 * cells.instances
    / nullif(sum(cells.instances) over (partition by cells.requested_gpu_type), 0) as instances_pct
from cells
inner join requests on cells.requested_gpu_type is not distinct from requests.requested_gpu_type
order by
    cells.requested_gpu_type asc nulls last,
    cells.instances desc,
    cells.machine_gpu_type asc nulls last;

comment on macro table pai.requested_against_assigned_type is
'Tasks (only those that request a GPU with gpu_only) by the GPU type that their job requested, NULL where '
'it requested none or has no tag, and by the GPU type of the machines of their launches according to '
'machine_spec: CPU for machines without a GPU, NULL for launches without a machine or whose machine is '
'missing from machine_spec, and for tasks without a launch. A task whose launches are on several types '
'counts in the row of each, so tasks_pct, the share of all tasks with that request, may add up to more '
'than 100. instances counts rows of the instance table, including re-runs and waiting ones; instances_pct '
'is their share of the rows of all tasks with that request, NULL where these tasks have no launch. '
'Combinations without tasks have no row.';
