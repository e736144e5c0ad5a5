-- FGD task classes that each type of empty GPU node can run, and the GPUs fragmented for them (openb).
-- grain: one row per (variant, class_number, model, gpus, cpu_milli)
-- source: Beware of Fragmentation (ATC 2023), F_n(m); kubernetes-scheduler-simulator, pkg/utils/frag.go
-- caveat: openb.cpu_classes_fragment: gpus can_run fragmented_gpus_per_node
-- caveat: openb.gpu_models_undisclosed: model
-- caveat: openb.no_placement
-- resolves_caveat: openb.gpu_spec_is_any_of
-- resolves_caveat: openb.node_lists_overlap
create or replace view openb.node_class_v1 as
with node_types as (
    select
        model,
        gpu as gpus,
        cpu_milli,
        count(*) as nodes
    from openb.node
    where node_list = 'gpu_node'
    group by model, gpu, cpu_milli
),

-- Every GPU is free, so whether the GPUs suffice for a pod depends only on their number.
fits as (
    select
        class.variant,
        class.class_number,
        node_types.model,
        node_types.gpus,
        node_types.cpu_milli,
        node_types.nodes,
        (
            class.num_gpu > 0
            and class.num_gpu <= node_types.gpus
            and class.cpu_milli <= node_types.cpu_milli
            and (
                class.gpu_spec is null
                or coalesce(list_contains(string_split(class.gpu_spec, '|'), node_types.model), false)
            )
        ) as can_run
    from openb.task_class_v1 as class
    cross join node_types
)

select
    variant,
    class_number,
    model,
    gpus,
    cpu_milli,
    nodes,
    can_run,
    -- A free GPU is never too small for a class: either all GPUs of a node are usable for it, or none.
    cast(case when can_run then 0 else gpus end as double) as fragmented_gpus_per_node
from fits;

comment on column openb.node_class_v1.gpus is 'GPUs of each node of this type; measured.';
comment on column openb.node_class_v1.cpu_milli is 'CPU of each node of this type, in thousandths of a core; measured.';
comment on column openb.node_class_v1.nodes is 'Nodes of this type in the list of GPU nodes; derived.';
comment on column openb.node_class_v1.can_run is 'Whether such a node has, when empty, the GPUs, the model and the CPU for a pod of the class; false for classes without a GPU, which use no GPU; derived.';
comment on column openb.node_class_v1.fragmented_gpus_per_node is 'GPUs of one such node that the class cannot use, F_n(m): all or none [GPUs]; derived.';
