-- CPU cores per GPU distribution by kind of job (ASI GPU pods)
-- chart: step x=cpus_per_gpu:log y=percentile color=job_type yname=pods_pct
-- column: cpus_per_gpu [CPU cores per GPU]: CPU cores that a pod requests per GPU
-- column: percentile [percent]: Percentage of the pods of the kind, counted in each hour, with at most this ratio
create or replace macro asi.cpus_per_gpu_cdf(
    from_day integer := 109,
    to_day integer := 115,
    -- round GPUs and CPU cores per GPU up to whole numbers
    is_rounded boolean := true
) as table
with pods as ( -- noqa: ST03
    select
        job_type,
        case
            when is_rounded then ceil(requested_cpus / nullif(ceil(requested_gpus), 0))
            else requested_cpus / nullif(requested_gpus, 0)
        end as cpus_per_gpu,
        pod_hours
    from asi.request_hour
    where
        day between from_day and to_day
        and hour_of_day % 2 = 0
        and job_type in ('training', 'online_inference', 'offline_inference', 'dev')
)

select
    series as job_type,
    value as cpus_per_gpu,
    percentile
from stats.cdf_points('pods', job_type, cpus_per_gpu, pod_hours)
order by job_type, cpus_per_gpu;

comment on macro table asi.cpus_per_gpu_cdf is 'CPU cores that GPU pods request per GPU, in even hours, as in the publisher''s cpu_gpu_ratio. He rounds up twice: a pod of a quarter of a GPU and 4 CPU cores has 4 per GPU. With is_rounded := false it has 16. A curve has at most 501 points.';
