-- How many GPUs do openb's pods ask for?
-- caveat: openb.variants_are_resampled
-- caveat: openb.gpu_milli_is_per_gpu
-- param: in_variant: pod list to count
-- chart: bar x=gpu_request y=pods_pct
create or replace macro openb.requests_by_gpus(in_variant varchar := 'default') as table
with requests as (
    select
        num_gpu,
        num_gpu = 1 and gpu_milli < 1000 as is_part,
        count(*) as pods,
        sum(num_gpu * gpu_milli) as milli
    from openb.pod
    where variant = in_variant
    group by all
)

select
    case when is_part then 'below 1' else cast(requests.num_gpu as varchar) end as gpu_request,
    requests.pods,
    100.0 * requests.pods / sum(requests.pods) over () as pods_pct,
    cast(requests.milli as bigint) as milli,
    100.0 * requests.milli / nullif(sum(requests.milli) over (), 0) as milli_pct
from requests
order by requests.num_gpu asc, is_part desc;

comment on macro table openb.requests_by_gpus is 'Pods per number of GPUs that they request, where below 1 is a part of one, and the thousandths of a GPU that they request.';
