-- Pods that ran at once and the GPUs that they held, at each start or end of a pod (openb).
-- grain: one row per (variant, from_s), at which a pod is scheduled or deleted
-- source: README of cluster-trace-gpu-v2023, pod lists: scheduled_time and deletion_time
-- caveat: openb.deletion_never_empty: from_s to_s
-- caveat: openb.time_origin_shifted: from_s to_s
-- caveat: openb.times_from_first_pod: from_s to_s
-- caveat: openb.variants_are_resampled: variant to_s
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.gpu_milli_is_per_gpu
-- resolves_caveat: openb.multigpu_five_columns
-- resolves_caveat: openb.pending_is_withdrawn
create or replace view openb.concurrency_v1 as
with ran as (
    select
        variant,
        scheduled_time as from_s,
        deletion_time as to_s,
        cast(num_gpu > 0 as bigint) as gpu_pods,
        num_gpu * gpu_milli as gpu_milli
    from openb.pod
    where scheduled_time is not null and deletion_time is not null
),

edges as (
    select
        variant,
        from_s,
        1 as pods,
        gpu_pods,
        gpu_milli
    from ran
    union all
    select
        variant,
        to_s as from_s,
        -1 as pods,
        -gpu_pods as gpu_pods,
        -gpu_milli as gpu_milli
    from ran
),

-- Changes within one second apply together: a pod that ends and one that starts do not overlap.
changes as (
    select
        variant,
        from_s,
        sum(pods) as pods,
        sum(gpu_pods) as gpu_pods,
        sum(gpu_milli) as gpu_milli
    from edges
    group by variant, from_s
)

select
    variant,
    from_s,
    lead(from_s) over (partition by variant order by from_s) as to_s,
    cast(sum(pods) over so_far as bigint) as pods,
    cast(sum(gpu_pods) over so_far as bigint) as gpu_pods,
    sum(gpu_milli) over so_far / 1000.0 as used_gpus
from changes
window so_far as (partition by variant order by from_s rows between unbounded preceding and current row);

comment on column openb.concurrency_v1.from_s is 'Time at which a pod was scheduled or deleted, in seconds since the first pod; measured.';
comment on column openb.concurrency_v1.to_s is 'Time of the next such event; NULL in the last row; derived.';
comment on column openb.concurrency_v1.pods is 'Pods that ran from from_s to to_s; derived.';
comment on column openb.concurrency_v1.gpu_pods is 'Running pods that request a GPU; derived.';
comment on column openb.concurrency_v1.used_gpus is 'GPUs that the running pods hold, fractions included; derived.';
