-- Jobs and GPU-hours by final status (Acme jobs)
-- answers: final state
-- caveat: acme.failure_needs_a_rule
-- caveat: acme.paper_counts_more_jobs
-- caveat: acme.states_beyond_readme
-- caveat: acme.summary_does_not_reproduce
-- resolves_caveat: acme.cpu_jobs_included
-- chart: bar x=final_state y=gpu_h_pct title=Share of GPU-hours by final status (Acme jobs)
-- column: final_state: State as published, or outcome
-- column: jobs: Jobs of the cluster, or its GPU jobs with gpu_only
create or replace macro acme.states(
    on_cluster varchar := 'seren',
    gpu_only boolean := true,
    -- group by outcome (completed, cancelled, failed) instead of the published state
    by_outcome boolean := false,
    -- count preempted jobs as failed; has an effect only with by_outcome
    preempted_fails boolean := false
) as table
with ended as (
    select
        gpu_h,
        case
            when not by_outcome then state
            when state = 'PREEMPTED' and not preempted_fails then 'preempted'
            else outcome
        end as final_state
    from acme.job
    where cluster = on_cluster and (not gpu_only or requested_gpus > 0)
),

states as (
    select
        final_state,
        count(*) as jobs,
        stats.fsum(gpu_h) as gpu_h
    from ended
    group by final_state
)

select
    final_state,
    states.jobs,
    100.0 * states.jobs / sum(states.jobs) over () as jobs_pct,
    states.gpu_h,
    100.0 * states.gpu_h / nullif(sum(stats.exact(states.gpu_h)) over (), 0) as gpu_h_pct
from states
order by final_state is null asc, states.jobs desc, final_state asc;

comment on macro table acme.states is 'Jobs and their GPU-hours, computed from the timestamps, per published final state or per outcome, and the percentages of the total. The final state is NULL where neither is known.';
