-- How many PAI tasks use less, or more, than they planned?
-- chart: bar x=resource y=used_less_pct
create or replace macro pai.plan_against_usage() as table
with margins as (
    select
        'cpu' as resource,
        cpu_margin_of_capacity as margin
    from pai.task_usage
    union all
    select
        'gpu' as resource,
        gpu_margin_of_capacity as margin
    from pai.task_usage
    union all
    select
        'memory' as resource,
        memory_margin_of_capacity as margin
    from pai.task_usage
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

comment on macro table pai.plan_against_usage is 'Share of tasks whose workers used less, or more, than planned: CPU, GPU and memory; tasks with a plan, a sensor and a known machine.';
