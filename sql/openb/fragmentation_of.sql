-- How much of openb's GPUs is fragmented in a placement of your own, by FGD's measure?
-- engine: duckdb
-- caveat: openb.no_placement
-- caveat: openb.cpu_classes_fragment
-- param: residual_table: table or view of what is free on each GPU, with the columns of openb.empty_residual
-- param: in_variant: pod list that says which pods are to be expected
create or replace macro openb.fragmentation_of(
    residual_table varchar := 'openb.empty_residual', in_variant varchar := 'default'
) as table
with nodes as (
    select
        residual.sn,
        residual.model,
        residual.free_cpu_milli,
        residual.free_gpu_milli
    from query_table(residual_table) as residual
),

classes as (
    select
        variant,
        class_number,
        cpu_milli,
        gpu_milli,
        num_gpu,
        gpu_spec,
        popularity
    from openb.task_class
    where variant = in_variant
),

-- How a node looks to a class: the GPUs that have room for it, what is free, and what of that is on the others.
seen as (
    select
        classes.variant,
        classes.class_number,
        classes.popularity,
        (
            max(classes.num_gpu) > 0
            and count(*) filter (where nodes.free_gpu_milli >= classes.gpu_milli) >= max(classes.num_gpu)
            and min(nodes.free_cpu_milli) >= max(classes.cpu_milli)
            and (
                max(classes.gpu_spec) is null
                or coalesce(list_contains(string_split(max(classes.gpu_spec), '|'), nodes.model), false)
            )
        ) as can_run,
        sum(nodes.free_gpu_milli) as free_gpu_milli,
        coalesce(
            sum(nodes.free_gpu_milli) filter (where nodes.free_gpu_milli < classes.gpu_milli), 0
        ) as too_small_gpu_milli
    from nodes
    cross join classes
    group by nodes.sn, nodes.model, classes.variant, classes.class_number, classes.popularity
),

fragmented as (
    select
        variant,
        count(distinct class_number) as classes,
        sum(popularity * case when can_run then too_small_gpu_milli else free_gpu_milli end) / 1000
            as fragmented_gpus
    from seen
    group by variant
),

capacity as (
    select sum(gpus) as gpus
    from openb.capacity
    where node_list = 'gpu_node'
)

select
    fragmented.variant,
    fragmented.classes,
    fragmented.fragmented_gpus,
    cast(capacity.gpus as bigint) as capacity_gpus,
    100.0 * fragmented.fragmented_gpus / nullif(capacity.gpus, 0) as fragmented_pct
from fragmented
cross join capacity;

comment on macro table openb.fragmentation_of is 'What openb.fragmentation_share says of the empty cluster, for any table of what is free: task classes, GPUs of no use to the next pod, and their share of the capacity of all GPU nodes.';
