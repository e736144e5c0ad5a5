-- Fitting pods by GPU model (unscheduled openb pods)
-- resolves_caveat: openb.gpu_milli_is_per_gpu
-- column: model: GPU model, or all
-- column: nodes: Nodes of the model, or of all models including nodes without a GPU
-- column: unscheduled_classes [classes]: Classes of one request among the pods that were never scheduled
-- column: fitting_classes [classes]: Classes of one request that at least one empty node would take
-- column: unscheduled_pods: Pods that were created and never scheduled
-- column: fitting_pods: Pods never scheduled that at least one empty node would take
-- column: unfit_pods: Pods never scheduled that no empty node would take
-- column: fitting_pct: Share of the pods never scheduled that at least one empty node would take
create or replace macro openb.pending_fit_by_model(
    in_variant varchar := 'default', gpu_only boolean := true, with_total boolean := false
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
    where variant = in_variant and (not gpu_only or num_gpu > 0)
),

-- A class that fits on several models counts once in the total.
classes as (
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
),

models as (
    select
        model,
        is_all,
        max(classes.nodes) as nodes,
        count(*) as unscheduled_classes,
        count(*) filter (where fitting_nodes > 0) as fitting_classes,
        sum(classes.unscheduled_pods) as unscheduled_pods,
        coalesce(sum(classes.unscheduled_pods) filter (where fitting_nodes > 0), 0) as fitting_pods
    from classes
    group by model, is_all
)

select
    case when is_all then 'all' else model end as model,
    cast(nodes as bigint) as nodes,
    unscheduled_classes,
    fitting_classes,
    cast(unscheduled_pods as bigint) as unscheduled_pods,
    cast(fitting_pods as bigint) as fitting_pods,
    cast(unscheduled_pods - fitting_pods as bigint) as unfit_pods,
    100.0 * fitting_pods / nullif(unscheduled_pods, 0) as fitting_pct
from models
where with_total or not is_all
order by is_all, models.model;

comment on macro table openb.pending_fit_by_model is
'Nodes per GPU model (no GPU: nodes without one) in the list of all nodes; classes of equal requests '
'(GPUs, share of each, acceptable models, CPU, memory) among pods that were created and never scheduled, '
'and the classes that at least one of the nodes could run if it were empty, as in openb.pending_fit; and '
'the pods of all classes, of fitting and of unfit classes, and the percentage that fits. A class may fit '
'on several models, so pods do not add up over models. In the total row a class fits if it fits on any '
'node. The result is empty if the pod list has no times or the list of all nodes is missing.';
