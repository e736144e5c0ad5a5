-- Requested GPU capacity by final phase (openb GPU pods)
-- chart: bar x=pod_phase y=pct yname=requested_GPUs_over_all_GPUs_pct note=All pods of the list added up, not those of one time.
-- column: pod_phase: Final phase of the pods
-- column: gpu_pods: Pods that request a GPU or a part of one
-- column: milli_by_card [thousandths of a GPU]: Thousandths of a GPU requested if every pod had one GPU
-- column: milli [thousandths of a GPU]: Thousandths of a GPU requested
-- column: capacity_milli: Thousandths of a GPU that the GPU nodes have
-- column: by_card_pct: milli_by_card in percent of the capacity
-- column: pct: milli in percent of the capacity
create or replace macro openb.allocation_share(
    in_variant varchar := 'default', with_total boolean := false
) as table
with summed as (
    select
        variant,
        pod_phase,
        grouping(pod_phase) = 1 as is_all,
        sum(allocation.gpu_pods) as gpu_pods,
        sum(allocation.milli_by_card) as milli_by_card,
        sum(allocation.milli) as milli,
        max(allocation.capacity_milli) as capacity_milli
    from openb.allocation as allocation
    where variant = in_variant
    group by grouping sets ((variant, pod_phase), (variant))
)

select
    variant,
    case when is_all then 'all' else pod_phase end as pod_phase,
    cast(gpu_pods as bigint) as gpu_pods,
    cast(milli_by_card as bigint) as milli_by_card,
    cast(milli as bigint) as milli,
    capacity_milli,
    100.0 * milli_by_card / nullif(capacity_milli, 0) as by_card_pct,
    100.0 * milli / nullif(capacity_milli, 0) as pct
from summed
where with_total or not is_all
order by is_all, summed.pod_phase;

comment on macro table openb.allocation_share is 'GPU pods per final phase, and the GPUs they requested, counting one GPU or all GPUs of each pod, in thousandths of a GPU and in percent of the capacity. A pod list without phases has one row with phase NULL.';
