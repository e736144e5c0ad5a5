-- How much of the GPUs did openb's pods request, by the phase that they ended in?
-- param: in_variant: pod list to count
-- values: in_variant: openb.pod.variant
-- chart: bar x=pod_phase y=pct omit=all
create or replace macro openb.allocation_share(in_variant varchar := 'default') as table
select
    variant,
    pod_phase,
    gpu_pods,
    milli_by_card,
    milli,
    capacity_milli,
    by_card_pct,
    pct
from openb.allocation
where variant = in_variant
order by case when pod_phase = 'all' then 1 else 0 end, pod_phase;

comment on macro table openb.allocation_share is 'GPU pods per last phase, what they requested with and without all their GPUs in thousandths of a GPU and in percent of the capacity, and a last row for all.';
