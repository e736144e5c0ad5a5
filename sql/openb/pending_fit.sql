-- Fitting nodes by request and model (unscheduled openb pods)
-- column: unscheduled_pods: Pods that were created and never scheduled
-- column: model: GPU model, or all
-- column: nodes: Nodes of the model, or of all models, the same for each class
-- column: fitting_nodes: Nodes that would take a pod of the class while empty
create or replace macro openb.pending_fit(
    in_variant varchar := 'default',
    gpu_only boolean := true,
    -- smallest number of pods of a class to include [1 to 100000]
    min_pods bigint := 1,
    with_total boolean := false
) as table
with fits as (
    select
        num_gpu,
        gpu_milli,
        gpu_spec,
        cpu_milli,
        memory_mib,
        coalesce(model, 'no GPU') as model,
        unscheduled_pods,
        nodes,
        fitting_nodes
    from openb.unscheduled_fit
    where variant = in_variant and (not gpu_only or num_gpu > 0) and unscheduled_pods >= min_pods
),

summed as (
    select
        num_gpu,
        gpu_milli,
        gpu_spec,
        cpu_milli,
        memory_mib,
        model,
        grouping(model) = 1 as is_all,
        max(fits.unscheduled_pods) as unscheduled_pods,
        sum(fits.nodes) as nodes,
        sum(fitting_nodes) as fitting_nodes
    from fits
    group by grouping sets (
        (num_gpu, gpu_milli, gpu_spec, cpu_milli, memory_mib, model),
        (num_gpu, gpu_milli, gpu_spec, cpu_milli, memory_mib)
    )
)

select
    num_gpu,
    gpu_milli,
    gpu_spec,
    cpu_milli,
    memory_mib,
    unscheduled_pods,
    case when is_all then 'all' else model end as model,
    cast(summed.nodes as bigint) as nodes,
    cast(fitting_nodes as bigint) as fitting_nodes
from summed
where with_total or not is_all
order by
    unscheduled_pods desc,
    num_gpu asc,
    gpu_milli asc,
    gpu_spec asc nulls first,
    cpu_milli asc,
    memory_mib asc,
    is_all asc,
    summed.model asc;

comment on macro table openb.pending_fit is
'Pods of a list that were deleted before they were scheduled, grouped into classes of equal requests: '
'GPUs, share of each GPU in thousandths, acceptable GPU models (NULL: any), CPU in thousandths of a core, '
'memory in MiB (NULL: not in the list). One row per class, largest first, and GPU model (no GPU: nodes '
'without one). unscheduled_pods is the number of pods of the class, the same in each of its rows; nodes '
'counts nodes in the list of all nodes; fitting_nodes counts nodes that could run one such pod if they '
'were empty: enough GPUs, an acceptable model, enough CPU and, if known, memory. A class whose total row '
'has 0 fits nowhere. Pods without a GPU fit on nodes with and without one. The result is empty if the pod '
'list has no times or the list of all nodes is missing.';
