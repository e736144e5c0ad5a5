-- Requests of less than one GPU (ASI HP pods)
-- resolves_caveat: asi.pods_without_gpu
-- column: hours [h]: Even hours that are counted
-- column: pods_pct: Share of the pods that request less than one GPU, mean over hours
-- column: gpus_pct: Share of the requested GPUs that these pods request, mean over hours
create or replace macro asi.fractional_requests(from_day integer := 109, to_day integer := 115) as table
with hours as (
    select
        sum(pod_hours) as pods,
        sum(fractional_pods) as fractional_pods,
        stats.fsum(requested_gpus) as gpus,
        stats.fsum(fractional_gpus) as fractional_gpus
    from asi.class_hour
    where
        day between from_day and to_day
        and hour_of_day % 2 = 0
        and requests_gpus
        and priority = 'HP'
    group by day, hour_of_day
)

select
    count(*) as hours,
    stats.favg(100.0 * fractional_pods / pods) as pods_pct,
    stats.favg(100.0 * fractional_gpus / gpus) as gpus_pct
from hours;

comment on macro table asi.fractional_requests is 'HP pods that request a fraction of a GPU, and the GPUs that they request together, in even hours, as in the publisher''s compare_frac_gpu.';
