-- GPU requests compared with GPU capacity, by last pod phase and in total (openb).
-- grain: one row per (variant, pod_phase), and one per variant with pod_phase 'all'; without phases only that
-- source: README of cluster-trace-gpu-v2023, pod lists and openb_node_list_gpu_node.csv
-- caveat: openb.not_a_snapshot: pod_phase
-- caveat: openb.variants_are_resampled: variant
-- caveat: openb.count_gpu_pods: pod_phase gpu_pods milli_by_card milli by_card_pct pct
-- caveat: openb.gpu_milli_is_per_gpu: gpu_pods milli_by_card milli by_card_pct pct
-- caveat: openb.multigpu_demand_exceeds_capacity: variant gpu_pods milli_by_card milli by_card_pct pct
-- caveat: openb.multigpu_five_columns: pod_phase
create or replace view openb.allocation_v1 as
with capacity as (
    select sum(gpu_milli) as capacity_milli
    from openb.capacity_v1
    where node_list = 'gpu_node'
),

requested as (
    select
        variant,
        pod_phase,
        grouping(pod_phase) = 1 as is_all,
        count(*) filter (where num_gpu > 0) as gpu_pods,
        coalesce(sum(gpu_milli) filter (where num_gpu > 0), 0) as milli_by_card,
        coalesce(sum(num_gpu * gpu_milli) filter (where num_gpu > 0), 0) as milli
    from openb.pod
    group by grouping sets ((variant, pod_phase), (variant))
)

select
    requested.variant,
    case when requested.is_all then 'all' else requested.pod_phase end as pod_phase,
    requested.gpu_pods,
    cast(requested.milli_by_card as bigint) as milli_by_card,
    cast(requested.milli as bigint) as milli,
    cast(capacity.capacity_milli as bigint) as capacity_milli,
    100.0 * requested.milli_by_card / nullif(capacity.capacity_milli, 0) as by_card_pct,
    100.0 * requested.milli / nullif(capacity.capacity_milli, 0) as pct
from requested
cross join capacity
-- A list without phases has only its total.
where requested.is_all or requested.pod_phase is not null;

comment on column openb.allocation_v1.pod_phase is 'The last phase that the pods were seen in, or all for pods of every phase; measured.';
comment on column openb.allocation_v1.gpu_pods is 'Pods that request a GPU; derived.';
comment on column openb.allocation_v1.milli_by_card is 'Thousandths of a GPU requested if every pod had one GPU: gpu_milli summed alone, a common mistake [thousandths of a GPU]; derived.';
comment on column openb.allocation_v1.milli is 'Thousandths of a GPU requested, over all the GPUs of each pod; pods of one phase did not all run at once [thousandths of a GPU]; derived.';
comment on column openb.allocation_v1.capacity_milli is 'Thousandths of a GPU that the GPU nodes have [thousandths of a GPU]; derived.';
comment on column openb.allocation_v1.by_card_pct is 'milli_by_card in percent of capacity_milli; derived.';
comment on column openb.allocation_v1.pct is 'milli in percent of capacity_milli; over 100 in lists that pods were added to; derived.';
