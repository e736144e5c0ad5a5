-- Run time and unscheduled time by final phase (openb pods)
-- caveat: openb.pending_is_withdrawn
-- caveat: openb.running_outcome_unknown
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.times_from_first_pod
-- chart: bar x=pod_phase y=median_run_s title=Median run time by final phase (openb pods)
-- column: pods: Pods of the phase, or its GPU pods with gpu_only
-- column: median_run_s: Median from start to deletion or, for pods that still ran then, to the end of the trace
-- column: unscheduled_s: Time from creation to deletion of pods that were never scheduled
create or replace macro openb.lifetimes(in_variant varchar := 'default', gpu_only boolean := true) as table
with lives as (
    select
        pod_phase,
        run_s,
        -- Pod lists without times do not show which pods were scheduled, or when they were created.
        case when wait_s is null then end_s - submit_s end as unscheduled_s
    from openb.pod_lifecycle
    where variant = in_variant and (not gpu_only or requested_gpus > 0)
)

select
    pod_phase,
    count(*) as pods,
    avg(run_s) as mean_run_s,
    stats.percentiles(run_s).median as median_run_s,
    stats.percentiles(run_s).p75 as p75_run_s,
    stats.percentiles(run_s).p90 as p90_run_s,
    stats.percentiles(run_s).p95 as p95_run_s,
    stats.percentiles(run_s).p99 as p99_run_s,
    median(unscheduled_s) as median_unscheduled_s,
    avg(unscheduled_s) as mean_unscheduled_s,
    max(unscheduled_s) as max_unscheduled_s
from lives
group by pod_phase
order by pod_phase;

comment on macro table openb.lifetimes is 'Run time of pods from scheduling to deletion, and, for pods that were never scheduled, time from creation to deletion, per final phase.';
