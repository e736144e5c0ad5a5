-- GPU fragmentation of your own placement (openb GPUs)
-- engine: duckdb (query_table: functions of other engines do not accept a table name)
-- caveat: openb.cpu_classes_fragment
-- caveat: openb.no_placement
-- resolves_caveat: openb.gpu_milli_is_per_gpu
-- resolves_caveat: openb.gpu_spec_is_any_of
-- resolves_caveat: openb.node_lists_overlap
-- column: classes [task classes]: Task classes of the list
-- column: fragmented_gpus: Expected GPUs of the empty cluster that the next pod cannot use
-- column: capacity_gpus: GPUs of all nodes
-- column: fragmented_pct: Fragmented GPUs in percent of the capacity
create or replace macro openb.fragmentation_of(
    -- table or view of the free resources of each GPU, like openb.empty_residual
    -- [table with sn model free_cpu_milli free_gpu_milli]
    residual_table varchar := 'openb.empty_residual',
    -- pod list that defines the expected pods
    in_variant varchar := 'default'
) as table
with residual as (
    select
        sn,
        model,
        free_cpu_milli,
        free_gpu_milli
    from query_table(residual_table)
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

-- Per node and class: GPUs with enough free capacity, free capacity, and the part on GPUs with too little.
fits as (
    select
        residual.sn,
        residual.model,
        count(*) filter (where residual.free_gpu_milli >= classes.gpu_milli) as fitting_gpus,
        min(residual.free_cpu_milli) >= classes.cpu_milli
        and (
            classes.gpu_spec is null or list_contains(string_split(classes.gpu_spec, '|'), residual.model)
        ) as has_rest,
        sum(residual.free_gpu_milli) / 1000.0 as free_gpus,
        coalesce(
            sum(residual.free_gpu_milli) filter (where residual.free_gpu_milli < classes.gpu_milli), 0
        ) / 1000.0 as too_small_gpus,
        classes.variant,
        classes.class_number,
        classes.num_gpu,
        classes.popularity
    from residual
    cross join classes
    group by
        residual.sn,
        residual.model,
        classes.variant,
        classes.class_number,
        classes.cpu_milli,
        classes.num_gpu,
        classes.gpu_spec,
        classes.popularity
),

fragmented as (
    select
        variant,
        count(distinct class_number) as classes,
        stats.fragmented_gpus(
            popularity, num_gpu, fitting_gpus, has_rest, free_gpus, too_small_gpus
        ) as fragmented_gpus
    from fits
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

comment on macro table openb.fragmentation_of is 'The figures of openb.fragmentation_share for any table of free resources: task classes, GPUs that the next pod cannot use, and their share of the capacity of all GPU nodes.';
