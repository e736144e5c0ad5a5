-- GPU demand and its make-up by pod list (openb pods)
-- caveat: openb.variant_suffixes_differ
-- resolves_caveat: openb.classes_tie_at_the_cut
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.gpu_milli_is_per_gpu
-- resolves_caveat: openb.multigpu_five_columns
-- resolves_caveat: openb.node_lists_overlap
-- chart: bar x=variant xname=pod_list y=capacity_pct yname=requested_GPUs_over_all_GPUs_pct title=Requested share of GPU capacity by pod list (openb pods) note=All pods of each list added up, not those of one time.
-- column: pods: Pods of the list
-- column: gpu_pods: Pods of the list that request a GPU
-- column: cpu_only_pct: Share of all pods that request no GPU
-- column: sharing_demand_pct: Share of the demand from pods that share a GPU
-- column: multi_gpu_demand_pct: Share of the demand from pods with several GPUs
-- column: constrained_pct: Share of the GPU pods that are bound to GPU models
-- column: milli [thousandths of a GPU]: Thousandths of a GPU requested
-- column: capacity_pct: Share of the capacity
create or replace macro openb.demand_by_variant() as table
with demand as (
    select
        variant,
        count(*) as pods,
        count(*) filter (where num_gpu > 0) as gpu_pods,
        count(*) filter (where num_gpu > 0 and gpu_spec is not null) as constrained_pods,
        sum(num_gpu * gpu_milli) as milli,
        coalesce(sum(num_gpu * gpu_milli) filter (where gpu_milli < 1000), 0) as sharing_milli,
        coalesce(sum(num_gpu * gpu_milli) filter (where num_gpu > 1), 0) as multi_gpu_milli
    from openb.pod
    group by variant
),

capacity as (
    select sum(gpu_milli) as capacity_milli
    from openb.capacity
    where node_list = 'gpu_node'
)

select
    demand.variant,
    demand.pods,
    demand.gpu_pods,
    100.0 * (demand.pods - demand.gpu_pods) / nullif(demand.pods, 0) as cpu_only_pct,
    100.0 * demand.sharing_milli / nullif(demand.milli, 0) as sharing_demand_pct,
    100.0 * demand.multi_gpu_milli / nullif(demand.milli, 0) as multi_gpu_demand_pct,
    100.0 * demand.constrained_pods / nullif(demand.gpu_pods, 0) as constrained_pct,
    cast(demand.milli as bigint) as milli,
    100.0 * demand.milli / nullif(capacity.capacity_milli, 0) as capacity_pct
from demand
cross join capacity
order by demand.variant;

comment on macro table openb.demand_by_variant is
'Pods per list and pods that request a GPU; percentage of pods without a GPU; percentage of GPU pods that '
'are bound to GPU models; percentage of GPU demand from pods that share a GPU and from pods with several '
'GPUs; and demand in percent of the capacity. All pods count. Lists without gpu_spec have no pods that '
'are bound to models.';
