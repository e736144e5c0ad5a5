-- Pods and the GPUs that they requested, by quality of service and last phase (openb).
-- grain: one row per (variant, qos, pod_phase); qos and pod_phase are both NULL in the multigpu variants
-- source: README of cluster-trace-gpu-v2023, pod lists
-- Version 2 gives the same rows.
create or replace view openb.phase_v1 as
select
    variant,
    qos,
    pod_phase,
    pods,
    gpu_pods,
    requested_gpus
from openb.phase_v2;

comment on column openb.phase_v1.pods is 'Pods; derived.';
comment on column openb.phase_v1.gpu_pods is 'Pods that request a GPU; derived.';
comment on column openb.phase_v1.requested_gpus is 'GPUs requested, fractions included; pods of one phase did not all run at once; derived.';
