-- FGD task classes: the most frequent requests of pods, and their frequencies (openb).
-- grain: one row per (variant, class_number)
-- source: Beware of Fragmentation (ATC 2023); kubernetes-scheduler-simulator, pkg/utils/frag.go, GetTypicalPods
-- caveat: openb.classes_tie_at_the_cut: cpu_milli gpu_milli num_gpu gpu_spec
-- caveat: openb.gpu_milli_is_per_gpu: gpu_milli
-- caveat: openb.gpu_spec_is_any_of: gpu_spec
-- caveat: openb.gpu_spec_only_in_gpuspec: gpu_spec
-- caveat: openb.variants_are_resampled: variant popularity
create or replace view openb.task_class_v1 as
with classes as (
    select
        variant,
        cpu_milli,
        gpu_milli,
        num_gpu,
        gpu_spec,
        count(*) as pods
    from openb.pod
    group by variant, cpu_milli, gpu_milli, num_gpu, gpu_spec
),

ranked as (
    select
        *,
        row_number() over by_popularity as class_number,
        sum(pods) over by_popularity as pods_up_to,
        sum(pods) over (partition by variant) as all_pods
    from classes
    window
        by_popularity as (
            partition by variant
            order by
                pods desc,
                cpu_milli asc nulls first,
                gpu_milli asc nulls first,
                num_gpu asc nulls first,
                gpu_spec asc nulls first
            rows between unbounded preceding and current row
        )
),

-- Keep classes while the previous ones have under 95 % of the pods. Whole numbers avoid rounding, as 0.95 is inexact.
kept as (
    select
        variant,
        class_number,
        cpu_milli,
        gpu_milli,
        num_gpu,
        gpu_spec,
        pods
    from ranked
    where 100 * (pods_up_to - pods) < 95 * all_pods
)

select
    variant,
    class_number,
    cpu_milli,
    gpu_milli,
    num_gpu,
    gpu_spec,
    pods,
    pods / sum(pods) over (partition by variant) as popularity
from kept;

comment on column openb.task_class_v1.class_number is 'Rank among the classes of the list, from 1: most pods first, then smallest requests [no unit]; derived.';
comment on column openb.task_class_v1.gpu_spec is 'Acceptable GPU models, joined by |; NULL for any; measured.';
comment on column openb.task_class_v1.pods is 'Pods of the class; derived.';
comment on column openb.task_class_v1.popularity is 'Share of the pods of the listed classes, from 0 to 1 [ratio]; derived.';
