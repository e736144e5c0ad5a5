-- GPU utilisation by hour and kind of job (ASI HP pods)
-- answers: GPU utilisation, hour of day
-- resolves_caveat: asi.pods_without_gpu
-- chart: line x=hour y=mean_gpu_pct color=job_type yname=mean_gpu_utilisation_pct note=HP: high priority.
-- column: day [no unit]: Day since the start of the trace
-- column: hour [no unit]: Hour since the start of the trace
-- column: mean_gpu_pct: Mean over pods of the SM utilisation of the GPUs that they request
-- column: measured_pods: Pods with a utilisation
-- column: requested_gpus: GPUs that all pods of the kind request
create or replace macro asi.utilization_by_hour(from_day integer := 109, to_day integer := 115) as table
select
    day,
    hour_of_day,
    24 * day + hour_of_day as hour,
    job_type,
    case
        when count(is_standby) > 0
            then stats.fsum(measured_pods * mean_gpu_pct) / nullif(sum(measured_pods), 0)
    end as mean_gpu_pct,
    case when count(is_standby) > 0 then cast(sum(measured_pods) as bigint) end as measured_pods,
    case when count(is_standby) > 0 then stats.fsum(requested_gpus) end as requested_gpus
from asi.class_hour
where
    day between from_day and to_day
    and requests_gpus
    and priority = 'HP'
    and is_ready
    and not coalesce(is_standby, false)
    and job_type in ('training', 'online_inference', 'offline_inference', 'dev')
group by day, hour_of_day, job_type
order by day, hour_of_day, job_type;

comment on macro table asi.utilization_by_hour is 'Mean SM utilisation of ready HP pods with a GPU, standby pods left out, as in the publisher''s temporal_gpu_req_sm_util. NULL except on days 109 to 115: on others, standby is unknown.';
