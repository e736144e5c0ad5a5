-- Nodes that could take the pods that were never scheduled, if nothing else ran on them (openb).
-- grain: one row per (variant, num_gpu, gpu_milli, gpu_spec, cpu_milli, memory_mib, model); model is NULL for nodes without a GPU
-- source: README of cluster-trace-gpu-v2023, pod lists and openb_node_list_all_node.csv
-- caveat: openb.gpu_milli_is_per_gpu: gpu_milli
-- caveat: openb.gpu_models_undisclosed: model
-- caveat: openb.gpu_spec_only_in_gpuspec: gpu_spec fitting_nodes
-- caveat: openb.no_placement: fitting_nodes
-- caveat: openb.nomem_lists: memory_mib fitting_nodes
-- caveat: openb.pending_is_withdrawn: unscheduled_pods fitting_nodes
-- caveat: openb.variants_are_resampled: variant unscheduled_pods
-- resolves_caveat: openb.multigpu_five_columns
-- resolves_caveat: openb.node_lists_overlap
create or replace view openb.unscheduled_fit_v1 as
with classes as (
    select
        variant,
        num_gpu,
        gpu_milli,
        gpu_spec,
        cpu_milli,
        memory_mib,
        count(*) as unscheduled_pods
    from openb.pod
    -- Lists without times have no creation time either, so whether their pods were scheduled is unknown.
    where creation_time is not null and scheduled_time is null
    group by variant, num_gpu, gpu_milli, gpu_spec, cpu_milli, memory_mib
),

node_types as (
    select
        model,
        gpu,
        cpu_milli,
        memory_mib,
        count(*) as nodes
    from openb.node
    where node_list = 'all_node'
    group by model, gpu, cpu_milli, memory_mib
),

-- Every GPU is free, so whether the GPUs suffice for a pod depends only on their number.
fits as (
    select
        classes.*,
        node_types.model,
        node_types.nodes,
        (
            classes.num_gpu <= node_types.gpu
            and classes.cpu_milli <= node_types.cpu_milli
            -- The nomem lists have no memory.
            and coalesce(classes.memory_mib <= node_types.memory_mib, true)
            and (
                classes.gpu_spec is null
                or coalesce(list_contains(string_split(classes.gpu_spec, '|'), node_types.model), false)
            )
        ) as can_run
    from classes
    cross join node_types
)

select
    variant,
    num_gpu,
    gpu_milli,
    gpu_spec,
    cpu_milli,
    memory_mib,
    model,
    max(unscheduled_pods) as unscheduled_pods,
    cast(sum(nodes) as bigint) as nodes,
    cast(coalesce(sum(nodes) filter (where can_run), 0) as bigint) as fitting_nodes
from fits
group by variant, num_gpu, gpu_milli, gpu_spec, cpu_milli, memory_mib, model;

comment on column openb.unscheduled_fit_v1.gpu_spec is 'Acceptable GPU models, joined by |; NULL for any; measured.';
comment on column openb.unscheduled_fit_v1.unscheduled_pods is 'Pods of the class that were created and never scheduled, repeated in each of its rows; derived.';
comment on column openb.unscheduled_fit_v1.nodes is 'Nodes of the model in the list of all nodes; derived.';
comment on column openb.unscheduled_fit_v1.fitting_nodes is 'Nodes that, when empty, have the GPUs, the model, the CPU and, if known, the memory for a pod of the class; derived.';
