-- GPU requests compared with GPU capacity, by last pod phase (openb).
-- grain: one row per (variant, pod_phase); a list without phases has one row, whose pod_phase is NULL
-- source: README of cluster-trace-gpu-v2023, pod lists and openb_node_list_gpu_node.csv
-- caveat: openb.gpu_milli_is_per_gpu: milli_by_card by_card_pct
-- caveat: openb.multigpu_demand_exceeds_capacity: variant gpu_pods milli_by_card milli by_card_pct pct
-- caveat: openb.multigpu_five_columns: pod_phase
-- caveat: openb.not_a_snapshot: pod_phase
-- caveat: openb.pending_is_withdrawn: pod_phase
-- caveat: openb.pods_are_not_all_load
-- caveat: openb.variants_are_resampled: variant
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.node_lists_overlap
-- Unlike version 1, this has no row for all phases together, so that a sum does not count pods twice. The comment on
-- pct no longer says that pods were added to every list over 100.
create or replace view openb.allocation_v2 as
with capacity as (
    select sum(gpu_milli) as capacity_milli
    from openb.capacity_v1
    where node_list = 'gpu_node'
),

requested as (
    select
        variant,
        pod_phase,
        count(*) filter (where num_gpu > 0) as gpu_pods,
        coalesce(sum(gpu_milli) filter (where num_gpu > 0), 0) as milli_by_card,
        coalesce(sum(num_gpu * gpu_milli) filter (where num_gpu > 0), 0) as milli
    from openb.pod
    group by variant, pod_phase
)

select
    requested.variant,
    requested.pod_phase,
    requested.gpu_pods,
    cast(requested.milli_by_card as bigint) as milli_by_card,
    cast(requested.milli as bigint) as milli,
    cast(capacity.capacity_milli as bigint) as capacity_milli,
    100.0 * requested.milli_by_card / nullif(capacity.capacity_milli, 0) as by_card_pct,
    100.0 * requested.milli / nullif(capacity.capacity_milli, 0) as pct
from requested
cross join capacity;

comment on column openb.allocation_v2.pod_phase is 'The last phase that the pods were seen in; NULL in a list without phases; measured.';
comment on column openb.allocation_v2.pct is 'milli in percent of capacity_milli; over 100 where the pods of a list request more than the nodes have, whether pods were added to the default list or drawn again; derived.';
