-- How much CPU, GPU and memory do PAI's tasks request for each instance?
-- caveat: pai.plan_is_per_instance
-- caveat: pai.memory_gb_looks_binary
-- param: at_pct: percentile beside the median, from 0 to 100
-- chart: bar x=resource y=at_percentile
create or replace macro pai.request_percentiles(at_pct double := 95) as table
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

-- A quantile that is a parameter of the query is none that DuckDB takes: the places are counted from 0.
ranked as (
    select
        resource,
        request,
        row_number() over (partition by resource order by request asc nulls last) - 1 as place,
        (count(request) over (partition by resource) - 1) * at_pct / 100 as wanted
    from requests
),

bounds as (
    select
        resource,
        count(request) as requests,
        median(request) as median,
        max(request) filter (where place = floor(wanted)) as below,
        max(request) filter (where place = ceil(wanted)) as above,
        max(wanted - floor(wanted)) as part
    from ranked
    group by resource
)

select
    resources.resource,
    coalesce(bounds.requests, 0) as requests,
    resources.unit,
    bounds.median,
    bounds.below + (bounds.above - bounds.below) * bounds.part as at_percentile
from resources
left join bounds on resources.resource = bounds.resource
order by resources.resource;

comment on macro table pai.request_percentiles is 'Interpolated percentiles of what tasks request for each instance, over the tasks that do; of GPUs, over the tasks that ask for more than none.';
