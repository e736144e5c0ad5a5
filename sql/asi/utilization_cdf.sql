-- Utilisation distribution by kind of job (ASI ready GPU pods)
-- param: quantity: column of asi.pod_hour with the use: SM, CPU or host memory in percent, or GPU memory in GiB
-- choices: quantity: gpu_pct cpu_pct memory_pct gpu_memory_gib
-- chart: step x=value:log y=percentile color=job_type xname=used_quantity
-- column: value: Use of a pod in an hour, in the unit of the quantity
-- column: percentile: Percentage of the pods of the kind, counted in each hour, with at most this use
create or replace macro asi.utilization_cdf(
    from_day integer := 109, to_day integer := 115, quantity varchar := 'gpu_pct'
) as table
with pods as ( -- noqa: ST03
    select
        job_type,
        case quantity
            when 'gpu_pct' then gpu_pct
            when 'cpu_pct' then cpu_pct
            when 'memory_pct' then memory_pct
            else gpu_memory_gib
        end as value
    from asi.pod_hour
    where
        day between from_day and to_day
        and requested_gpus > 0
        and is_ready
        and job_type in ('training', 'online_inference', 'offline_inference', 'dev')
)

select
    job_type,
    value,
    percentile
from cdf_points(pods, job_type, value)
order by job_type, value;

comment on macro table asi.utilization_cdf is 'Use of the SMs of the requested GPUs, of the requested CPU cores, of the memory or of GPU memory by ready GPU pods, as in the publisher''s pod_resource_util_cdf. Pods without a measurement are left out. Pods in standby count. A curve has at most 501 points; a logarithmic chart leaves out values of 0 and less.';
