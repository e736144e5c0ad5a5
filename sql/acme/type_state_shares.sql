-- Jobs and GPU-hours by type and outcome (Acme jobs)
-- caveat: acme.failure_needs_a_rule
-- caveat: acme.paper_counts_more_jobs
-- caveat: acme.states_beyond_readme
-- caveat: acme.types_differ_by_cluster
-- resolves_caveat: acme.cpu_jobs_included
-- chart: stack x=workload_type y=gpu_h_pct color=outcome title=Share of GPU-hours by type and outcome (Acme jobs)
-- column: outcome: Outcome
-- column: jobs: Jobs of the cluster, or its GPU jobs with gpu_only
create or replace macro acme.type_state_shares(
    on_cluster varchar := 'seren',
    gpu_only boolean := true,
    preempted_fails boolean := false
) as table
with ended as (
    select
        workload_type,
        gpu_h,
        case when state = 'PREEMPTED' and not preempted_fails then 'preempted' else outcome end as outcome
    from acme.job
    where cluster = on_cluster and (not gpu_only or requested_gpus > 0)
),

outcomes as (
    select
        workload_type,
        outcome,
        count(*) as jobs,
        stats.fsum(gpu_h) as gpu_h
    from ended
    group by workload_type, outcome
)

select
    workload_type,
    outcome,
    outcomes.jobs,
    100.0 * outcomes.jobs / sum(outcomes.jobs) over () as jobs_pct,
    outcomes.gpu_h,
    100.0 * outcomes.gpu_h / nullif(sum(stats.exact(outcomes.gpu_h)) over (), 0) as gpu_h_pct
from outcomes
order by workload_type asc nulls last, outcome asc nulls last;

comment on macro table acme.type_state_shares is 'Jobs and their GPU-hours, computed from the timestamps, per type of work and outcome, and the percentages of all jobs and GPU-hours of the cluster. preempted is a separate outcome unless it counts as failed.';
