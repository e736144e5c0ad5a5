-- Requested CPU, GPU and memory percentiles (PAI tasks)
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- column: resource: Resource
-- column: unit: Unit of the numbers
-- column: median [no unit]: Median, in the unit of the row
-- column: at_percentile [percent]: Percentile
create or replace macro pai.request_percentiles(
    -- percentile to report in addition to the median [0 to 100]
    at_pct double := 95
) as table
with resources as (
    select
        known.resource,
        known.unit
    from (values ('cpu', 'CPU cores'), ('gpu', 'GPUs'), ('memory', 'GB')) as known (resource, unit)
),

requests as (
    select
        'cpu' as resource,
        plan_cpu / 100.0 as request
    from pai.task
    union all
    select
        'gpu' as resource,
        case when plan_gpu > 0 then plan_gpu / 100.0 end as request
    from pai.task
    union all
    select
        'memory' as resource,
        plan_mem as request
    from pai.task
),

-- Tasks request few distinct amounts: counts them, and derives the ranks, from 0, from the counts.
amounts as (
    select
        resource,
        request,
        count(*) as tasks
    from requests
    where request is not null
    group by resource, request
),

placed as (
    select
        resource,
        request,
        tasks,
        sum(tasks) over (partition by resource order by request) as up_to,
        sum(tasks) over (partition by resource) as requests
    from amounts
),

-- DuckDB accepts only constants as quantiles, not a parameter of the query.
wanted as (
    select
        resource,
        request,
        requests,
        up_to - tasks as first_place,
        up_to - 1 as last_place,
        (requests - 1) / 2.0 as median_place,
        (requests - 1) * at_pct / 100 as percentile_place
    from placed
),

bounds as (
    select
        resource,
        max(requests) as requests,
        max(request) filter (where floor(median_place) between first_place and last_place) as median_below,
        max(request) filter (where ceil(median_place) between first_place and last_place) as median_above,
        max(request) filter (where floor(percentile_place) between first_place and last_place) as below,
        max(request) filter (where ceil(percentile_place) between first_place and last_place) as above,
        max(percentile_place - floor(percentile_place)) as part
    from wanted
    group by resource
)

select
    resources.resource,
    cast(coalesce(bounds.requests, 0) as bigint) as requests,
    resources.unit,
    (bounds.median_below + bounds.median_above) / 2.0 as median,
    bounds.below + (bounds.above - bounds.below) * bounds.part as at_percentile
from resources
left join bounds on resources.resource = bounds.resource
order by resources.resource;

comment on macro table pai.request_percentiles is 'Interpolated percentiles of the resources that tasks request per instance. Tasks without a request are left out; for GPUs, also tasks that request 0.';
