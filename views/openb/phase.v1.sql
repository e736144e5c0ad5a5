-- Pods and the GPUs that they requested, by quality of service and last phase (openb).
-- grain: one row per (variant, qos, pod_phase); qos and pod_phase are both NULL in the multigpu variants
-- source: README of cluster-trace-gpu-v2023, pod lists
create or replace view openb.phase_v1 as
select
    variant,
    qos,
    pod_phase,
    count(*) as pods,
    count(*) filter (where requested_gpu_milli > 0) as gpu_pods,
    stats.fsum(requested_gpus) as requested_gpus
from openb.pod_lifecycle_v1
group by variant, qos, pod_phase;

comment on column openb.phase_v1.pods is 'Pods; derived.';
comment on column openb.phase_v1.gpu_pods is 'Pods that request a GPU; derived.';
comment on column openb.phase_v1.requested_gpus is 'GPUs requested, fractions included; pods of one phase did not all run at once; derived.';
