-- Fragmented GPUs of each empty GPU node for the expected pods, by FGD's measure (openb).
-- grain: one row per (variant, sn)
-- source: Beware of Fragmentation (ATC 2023), F_n(M)
-- caveat: openb.cpu_classes_fragment: free_gpus fragmented_gpus fragmentation_rate
-- caveat: openb.gpu_models_undisclosed: model
-- caveat: openb.no_placement
-- caveat: openb.node_sn_differs_by_list: sn
-- resolves_caveat: openb.node_lists_overlap
-- Differs from version 1 in the last digits only: its sums are exact, and so the same on every run.
create or replace view openb.fragmentation_v2 as
with expected as (
    select
        node_class.variant,
        node_class.model,
        node_class.gpus,
        node_class.cpu_milli,
        stats.fsum(class.popularity * node_class.fragmented_gpus_per_node) as fragmented_gpus
    from openb.node_class_v1 as node_class
    inner join openb.task_class_v1 as class
        on node_class.variant = class.variant and node_class.class_number = class.class_number
    group by node_class.variant, node_class.model, node_class.gpus, node_class.cpu_milli
)

select
    expected.variant,
    node.sn,
    node.model,
    cast(node.gpu as double) as free_gpus,
    expected.fragmented_gpus,
    expected.fragmented_gpus / nullif(node.gpu, 0) as fragmentation_rate
from openb.node as node
inner join expected
    on
        node.model is not distinct from expected.model
        and node.gpu is not distinct from expected.gpus
        and node.cpu_milli is not distinct from expected.cpu_milli
where node.node_list = 'gpu_node';
