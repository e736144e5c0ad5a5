-- Fragmented GPUs of each empty GPU node for the expected pods, by FGD's measure (openb).
-- grain: one row per (variant, sn)
-- source: Beware of Fragmentation (ATC 2023), F_n(M)
-- caveat: openb.no_placement
-- caveat: openb.cpu_classes_fragment: free_gpus fragmented_gpus fragmentation_rate
-- caveat: openb.node_sn_differs_by_list: sn
-- Version 2 gives the same rows.
create or replace view openb.fragmentation_v1 as
select
    variant,
    sn,
    model,
    free_gpus,
    fragmented_gpus,
    fragmentation_rate
from openb.fragmentation_v2;

comment on column openb.fragmentation_v1.sn is 'Node, as named in the list of GPU nodes; measured.';
comment on column openb.fragmentation_v1.free_gpus is 'Free GPUs: all GPUs of the node; derived.';
comment on column openb.fragmentation_v1.fragmented_gpus is 'GPUs that the next pod cannot use, expected over the task classes by their popularity, F_n(M); derived.';
comment on column openb.fragmentation_v1.fragmentation_rate is 'Share of free_gpus that is fragmented, from 0 to 1 [ratio]; derived.';
