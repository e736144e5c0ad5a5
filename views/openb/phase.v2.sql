-- Pods and the GPUs that they requested, by quality of service and last phase (openb).
-- grain: one row per (variant, qos, pod_phase); qos and pod_phase are both NULL in the multigpu variants
-- source: README of cluster-trace-gpu-v2023, pod lists
-- Differs from version 1 in the last digits only: its sums are exact, and so the same on every run.
create or replace view openb.phase_v2 as
select
    variant,
    qos,
    pod_phase,
    count(*) as pods,
    count(*) filter (where requested_gpu_milli > 0) as gpu_pods,
    stats.fsum(requested_gpus) as requested_gpus
from openb.pod_lifecycle_v1
group by variant, qos, pod_phase;
