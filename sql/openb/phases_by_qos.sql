-- Final phases by quality of service (openb pods)
-- caveat: openb.running_outcome_unknown
-- caveat: openb.count_gpu_pods
-- chart: stack x=qos y=pods_pct color=pod_phase count=pods note=BE: best effort. LS: latency-sensitive.
create or replace macro openb.phases_by_qos(
    in_variant varchar := 'default', gpu_only boolean := false
) as table
with phases as (
    select
        qos,
        pod_phase,
        count(*) as pods
    from openb.pod_lifecycle
    where variant = in_variant and (not gpu_only or requested_gpus > 0)
    group by qos, pod_phase
)

select
    qos,
    pod_phase,
    phases.pods,
    100.0 * phases.pods / sum(phases.pods) over (partition by qos) as pods_pct
from phases
order by qos, pod_phase;

comment on macro table openb.phases_by_qos is 'Pods per quality of service and final phase, and their share of the pods of that quality of service.';
