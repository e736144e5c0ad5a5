-- GPUs and CPU cores at the peak (ASI workloads)
-- chart: box x=kind y=requested:log facet=resource yname=requested_amount xname=kind_of_workload
-- column: resource: GPUs or CPU cores
-- column: kind: genai if the request of any pod matches the rules for generative models, otherwise other
-- column: workloads [workloads]: Workloads with a GPU
-- column: requested [no unit]: GPUs or CPU cores that the pods of a workload request together in its peak hour
create or replace macro asi.workload_peaks(from_day integer := 109, to_day integer := 115) as table
with numbered as (
    select
        workload_id,
        requested_gpus,
        requested_cpus,
        bool_or(is_genai) over (partition by workload_id) as is_genai,
        row_number() over (
            partition by workload_id order by round(requested_gpus, 6) desc, day asc, hour_of_day asc
        ) as place
    from asi.workload_hour
    where day between from_day and to_day
),

resources as (
    select
        known.place,
        known.resource
    from (values (1, 'GPUs'), (2, 'CPU cores')) as known (place, resource)
),

peaks as (
    select
        resources.place,
        resources.resource,
        case when numbered.is_genai then 'genai' else 'other' end as kind,
        case resources.place when 1 then numbered.requested_gpus else numbered.requested_cpus end as requested
    from numbered
    cross join resources
    where numbered.place = 1
)

select
    resource,
    kind,
    count(*) as workloads,
    stats.percentiles(requested).p5 as p5_requested,
    stats.percentiles(requested).p25 as p25_requested,
    stats.percentiles(requested).median as median_requested,
    stats.percentiles(requested).p75 as p75_requested,
    stats.percentiles(requested).p90 as p90_requested,
    stats.percentiles(requested).p95 as p95_requested,
    stats.percentiles(requested).p99 as p99_requested
from peaks
group by place, resource, kind
order by place, kind;

comment on macro table asi.workload_peaks is
'GPUs and CPU cores that the GPU pods of a workload request together in the hour in which it requests '
'most GPUs, the first of equals, as in the publisher''s gpu_cpu_request_num_box_plot. He compares days '
'and hours as texts, which finds another first hour only where days below 100 and from 100 on mix. Both '
'quantities are of the same hour.';
