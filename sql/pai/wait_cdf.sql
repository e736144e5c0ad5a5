-- How many of PAI's GPU tasks wait so long or less, per type of GPU?
-- caveat: pai.gpu_type_is_assigned
-- caveat: pai.gpu_type_null
-- chart: line x=wait_s:log y=share_pct color=gpu_type
create or replace macro pai.wait_cdf() as table
with points as (
    select
        unnest([
            0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000,
        ]) as point_s
),

-- A few thousand different waits, so that not every task meets every point.
waits as (
    select
        gpu_type,
        wait_s as waited_s,
        count(*) as tasks
    from pai.task_wait
    where gpu_type is not null and requested_gpus_per_instance > 0
    group by gpu_type, wait_s
)

select
    waits.gpu_type,
    points.point_s as wait_s,
    cast(coalesce(sum(waits.tasks) filter (where waits.waited_s <= points.point_s), 0) as bigint) as tasks,
    100.0 * coalesce(sum(waits.tasks) filter (where waits.waited_s <= points.point_s), 0)
    / nullif(sum(waits.tasks), 0) as share_pct
from waits
cross join points
group by waits.gpu_type, points.point_s
order by waits.gpu_type, points.point_s;

comment on macro table pai.wait_cdf is 'Tasks that waited so long or less from launch to their first instance, and their share of the GPU tasks of their assigned type that have an instance.';
