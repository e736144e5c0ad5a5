-- Pods, queueing delay and run time by phase (openb pods)
-- answers: final state
-- caveat: openb.running_outcome_unknown
-- resolves_caveat: openb.count_gpu_pods
-- chart: bar x=pod_phase y=pods title=Pods by last recorded phase (openb pods)
-- column: pods: Pods of the phase, or its GPU pods with gpu_only
-- column: requested_gpus: Requested GPUs
-- column: median_run_s: Median from start to deletion or, for pods that still ran then, to the end of the trace
create or replace macro openb.phases(in_variant varchar := 'default', gpu_only boolean := true) as table
with phases as (
    select
        pod_phase,
        count(*) as pods,
        stats.fsum(requested_gpus) as requested_gpus,
        median(wait_s) as median_wait_s,
        median(run_s) as median_run_s
    from openb.pod_lifecycle
    where variant = in_variant and (not gpu_only or requested_gpus > 0)
    group by pod_phase
)

select
    pod_phase,
    phases.pods,
    100.0 * phases.pods / sum(phases.pods) over () as pods_pct,
    requested_gpus,
    median_wait_s,
    median_run_s
from phases
order by phases.pods desc, pod_phase asc;

comment on macro table openb.phases is
'Pods per final phase, the GPUs they requested, and medians of their queueing delay and run time. The run '
'time of the pods that still ran when the trace ended is the time until then; unified.run_cdf estimates the '
'median of all phases from them by Kaplan-Meier, and unified.traces has the median of those that ended.';
