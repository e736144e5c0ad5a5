-- Fitting nodes by request and model (unscheduled openb pods)
-- param: in_variant: pod list to count
-- values: in_variant: openb.pod.variant
-- param: gpu_only: count only pods that request a GPU
-- param: min_pods: leave out classes of fewer pods
-- range: min_pods: 1 to 100000
-- param: with_total: add rows called all, each behind the rows that it takes together, as traces query does in its tables
-- column: nodes: Nodes of the model, or of all, the same in each class
create or replace macro openb.pending_fit(
    in_variant varchar := 'default',
    gpu_only boolean := true,
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

comment on macro table openb.pending_fit is 'Pods of a list that were created and never scheduled (all were withdrawn), in classes of one request: GPUs, share of each in thousandths, GPU models that will do (NULL: any), CPU in thousandths of a core, memory in MiB. Per class, the largest first, and GPU model, with no GPU for nodes without one: the pods of the class, the same in each of its rows, the nodes in the list of all nodes, and those of them that would take one such pod if nothing else ran there, as they have at least as many GPUs, a model that will do, and the CPU and memory. A class whose total has 0 fits nowhere. Pods without a GPU fit on nodes with and without one. Without times in the pod list, or without the list of all nodes, the answer is empty.';
