-- openb pods: requests, tier of GPU sharing, wait and run.
-- grain: one row per (variant, name)
-- source: README of cluster-trace-gpu-v2023, pod lists
-- answers: submission, wait, run, requested GPUs
-- caveat: openb.count_gpu_pods: requested_gpu_milli requested_gpus
-- caveat: openb.deletion_never_empty: run_s end_s
-- caveat: openb.gpu_spec_only_in_gpuspec: gpu_spec
-- caveat: openb.multigpu_five_columns: qos pod_phase gpu_spec submit_s end_s wait_s run_s
-- caveat: openb.nomem_lists: requested_memory_gib
-- caveat: openb.not_a_snapshot: pod_phase
-- caveat: openb.pending_has_no_schedule: wait_s run_s
-- caveat: openb.pending_is_withdrawn: pod_phase end_s
-- caveat: openb.pod_name_differs_by_variant: name
-- caveat: openb.running_outcome_unknown: pod_phase
-- caveat: openb.time_origin_shifted: submit_s end_s
-- caveat: openb.times_from_first_pod: submit_s end_s
-- caveat: openb.variants_are_resampled: variant
-- resolves_caveat: openb.gpu_milli_is_per_gpu
create or replace view openb.pod_lifecycle_v1 as
select
    variant,
    name,
    qos,
    pod_phase,
    gpu_spec,
    cpu_milli / 1000.0 as requested_cpus,
    memory_mib / 1024.0 as requested_memory_gib,
    num_gpu * gpu_milli as requested_gpu_milli,
    num_gpu * gpu_milli / 1000.0 as requested_gpus,
    case
        when num_gpu = 0 then 'no GPU'
        when gpu_milli >= 1000 then 'whole GPUs'
        when gpu_milli > 500 then '501 to 999 milli'
        when gpu_milli > 250 then '251 to 500 milli'
        else 'up to 250 milli'
    end as gpu_tier,
    case when num_gpu > 0 then 1000 - gpu_milli end as residual_gpu_milli,
    creation_time as submit_s,
    deletion_time as end_s,
    scheduled_time - creation_time as wait_s,
    deletion_time - scheduled_time as run_s
from openb.pod;

comment on column openb.pod_lifecycle_v1.gpu_spec is 'Acceptable GPU models, joined by |; NULL for any; measured.';
comment on column openb.pod_lifecycle_v1.requested_cpus is 'CPU cores requested; derived.';
comment on column openb.pod_lifecycle_v1.requested_memory_gib is 'Main memory requested in GiB; derived.';
comment on column openb.pod_lifecycle_v1.requested_gpu_milli is 'Thousandths of a GPU requested, over all the pod''s GPUs [thousandths of a GPU]; derived.';
comment on column openb.pod_lifecycle_v1.requested_gpus is 'GPUs requested, fractions included; derived.';
comment on column openb.pod_lifecycle_v1.gpu_tier is 'Share of one GPU that is requested, in bands; derived.';
comment on column openb.pod_lifecycle_v1.residual_gpu_milli is 'Share that the request leaves free on each of its GPUs, in thousandths; NULL without a GPU [thousandths of a GPU]; derived.';
comment on column openb.pod_lifecycle_v1.end_s is 'Deletion in seconds since the first pod, also of pods that were never scheduled; measured.';
comment on column openb.pod_lifecycle_v1.wait_s is 'Seconds from creation to scheduling; NULL if it was never scheduled; derived.';
comment on column openb.pod_lifecycle_v1.run_s is 'Seconds from scheduling to deletion; NULL if it was never scheduled; derived.';
