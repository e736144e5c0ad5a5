-- Pods by tier of requested GPU share (openb GPU pods)
-- answers: GPU sharing
-- resolves_caveat: openb.count_gpu_pods
-- chart: bar x=gpu_tier y=pods xname=requested_share_of_a_GPU,_in_thousandths
-- column: pods: GPU pods of the tier
-- column: requested_gpus: Requested GPUs
-- column: mean_residual_gpu_milli [thousandths of a GPU]: Mean capacity that a pod leaves free on its GPU
create or replace macro openb.request_tiers(in_variant varchar := 'default') as table
with tiers as (
    select
        gpu_tier,
        count(*) as pods,
        stats.fsum(requested_gpus) as requested_gpus,
        avg(residual_gpu_milli) as mean_residual_gpu_milli
    from openb.pod_lifecycle
    where variant = in_variant and gpu_tier <> 'no GPU'
    group by gpu_tier
)

select
    gpu_tier,
    tiers.pods,
    100.0 * tiers.pods / sum(tiers.pods) over () as pods_pct,
    requested_gpus,
    mean_residual_gpu_milli
from tiers
order by mean_residual_gpu_milli, gpu_tier;

comment on macro table openb.request_tiers is 'GPU pods per sharing tier, the GPUs they request, and what each leaves free on its GPU.';
