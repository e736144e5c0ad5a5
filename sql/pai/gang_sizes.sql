-- Gang size distribution (PAI tasks and instances)
-- chart: line x=at_least:log y=instances_pct xname=at_least_this_many_instances title=Instances in gangs of at least a size (PAI instances)
-- column: at_least [no unit]: Least size of a gang, or least number of tasks, that is counted
-- column: tasks: Tasks of gangs of at least this size
-- column: tasks_pct: Share of the tasks of known size
create or replace macro pai.gang_sizes(gpu_only boolean := false) as table
with sizes as (
    select unnest([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]) as at_least
),

gangs as (
    select
        gang_size,
        tasks,
        instances
    from pai.gang
    where gang_size is not null and (not gpu_only or requests_gpu)
),

-- Left join: includes sizes that no gang reaches.
reached as (
    select
        sizes.at_least,
        coalesce(sum(gangs.tasks) filter (where gangs.gang_size >= sizes.at_least), 0) as tasks,
        coalesce(sum(gangs.instances) filter (where gangs.gang_size >= sizes.at_least), 0) as instances,
        sum(gangs.tasks) as all_tasks,
        sum(gangs.instances) as all_instances
    from sizes
    left join gangs on true
    group by sizes.at_least
)

select
    at_least,
    cast(tasks as bigint) as tasks,
    cast(instances as bigint) as instances,
    100.0 * tasks / nullif(all_tasks, 0) as tasks_pct,
    100.0 * instances / nullif(all_instances, 0) as instances_pct
from reached
order by at_least;

comment on macro table pai.gang_sizes is 'Tasks of gangs of at least the given size, the instances they launch, and the shares of both. Only gangs of known size count.';
