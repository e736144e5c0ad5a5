-- GPU fragmentation of the empty cluster (openb GPUs)
-- answers: fragmentation
-- caveat: openb.classes_tie_at_the_cut
-- caveat: openb.variants_are_resampled
-- resolves_caveat: openb.node_lists_overlap
-- column: classes [task classes]: Task classes of the list
-- column: fragmented_gpus: Expected GPUs of the empty cluster that the next pod cannot use
-- column: capacity_gpus: GPUs of all nodes
-- column: fragmented_pct: Fragmented GPUs in percent of the capacity
-- chart: bar x=variant y=fragmented_pct yname=fragmented_GPUs_pct xname=pod_list note=Fragmented: free GPUs that the next pod of the list cannot use, expected over its kinds of pods.
create or replace macro openb.fragmentation_share() as table
with classes as (
    select
        variant,
        count(*) as classes
    from openb.task_class
    group by variant
),

fragmented as (
    select
        variant,
        stats.fsum(fragmented_gpus) as fragmented_gpus
    from openb.fragmentation
    group by variant
),

capacity as (
    select sum(gpus) as gpus
    from openb.capacity
    where node_list = 'gpu_node'
)

select
    classes.variant,
    classes.classes,
    fragmented.fragmented_gpus,
    cast(capacity.gpus as bigint) as capacity_gpus,
    100.0 * fragmented.fragmented_gpus / nullif(capacity.gpus, 0) as fragmented_pct
from classes
left join fragmented on classes.variant = fragmented.variant
cross join capacity
order by classes.variant;

comment on macro table openb.fragmentation_share is 'Task classes per pod list, expected number of GPUs of the empty cluster that the next pod cannot use, and their share of the capacity.';
