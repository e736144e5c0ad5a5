-- Utilisation distribution by kind of job (ASI ready GPU pods)
-- chart: step x=value:log y=percentile color=job_type xname=used_{quantity} yname=pods_pct
-- column: value: Use of a pod in an hour, in the unit of the quantity, rounded up to three significant digits and, above 100, to whole numbers
-- column: percentile [percent]: Percentage of the pods of the kind, counted in each hour, with at most this use
create or replace macro asi.utilization_cdf(
    from_day integer := 109,
    to_day integer := 115,
    -- column of asi.pod_hour with the use: SM, CPU or host memory in percent, or GPU memory in GiB [gpu_pct
    -- cpu_pct memory_pct gpu_memory_gib]
    quantity varchar := 'gpu_pct'
) as table
with pods as ( -- noqa: ST03
    select
        job_type,
        value,
        sum(pod_hours) as pod_hours
    from asi.utilization_day
    where
        day between from_day and to_day
        and measure = quantity
        and job_type in ('training', 'online_inference', 'offline_inference', 'dev')
    group by job_type, value
)

select
    series as job_type,
    value,
    percentile
from stats.cdf_points('pods', job_type, value, pod_hours)
order by job_type, value;

comment on macro table asi.utilization_cdf is
'Use of the SMs of the requested GPUs, of the requested CPU cores, of the memory or of GPU memory by '
'ready GPU pods, as in the publisher''s pod_resource_util_cdf. Pods without a measurement are left out. '
'Pods in standby count. A curve has at most 501 points, each of them exact; a logarithmic chart leaves '
'out values of 0 and less.';
