-- Pods by number of requested GPUs (openb pods)
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.gpu_milli_is_per_gpu
-- resolves_caveat: openb.multigpu_demand_exceeds_capacity
-- column: gpu_request: Number of GPUs requested
-- column: milli [thousandths of a GPU]: Thousandths of a GPU requested
-- column: milli_pct: Share of the thousandths of a GPU requested
-- chart: bar x=gpu_request y=pods_pct xname=requested_gpus
create or replace macro openb.requests_by_gpus(in_variant varchar := 'default') as table
with labelled as (
    select
        case
            when num_gpu = 1 and gpu_milli < 1000 then 'below 1'
            else cast(num_gpu as varchar)
        end as gpu_request,
        num_gpu,
        num_gpu * gpu_milli as milli
    from openb.pod
    where variant = in_variant
),

requests as (
    select
        gpu_request,
        num_gpu,
        count(*) as pods,
        sum(milli) as milli
    from labelled
    group by gpu_request, num_gpu
)

select
    gpu_request,
    requests.pods,
    100.0 * requests.pods / sum(requests.pods) over () as pods_pct,
    cast(requests.milli as bigint) as milli,
    100.0 * requests.milli / nullif(sum(requests.milli) over (), 0) as milli_pct
from requests
-- Requests for a part of a GPU also have num_gpu 1; they come before a whole GPU.
order by num_gpu asc, gpu_request desc;

comment on macro table openb.requests_by_gpus is 'Pods per number of requested GPUs (below 1: part of a GPU), and the thousandths of a GPU that they request.';
