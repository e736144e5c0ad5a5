-- Jobs and GPU-hours by final status (Helios jobs)
-- answers: final state
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- chart: bar x=final_state y=gpu_h_pct title=Share of GPU-hours by final status (Helios jobs)
-- column: jobs: Jobs of the selected clusters, or their GPU jobs with gpu_only
create or replace macro helios.states(
    -- cluster to report on, or all [all Earth Saturn Uranus Venus]
    on_cluster varchar := 'all',
    gpu_only boolean := true
) as table
with states as (
    select
        status as final_state,
        count(*) as jobs,
        stats.fsum(held_gpu_s) / 3600.0 as gpu_h
    from helios.standard_job
    where on_cluster in ('all', cluster) and (not gpu_only or requested_gpus > 0)
    group by status
)

select
    final_state,
    states.jobs,
    100.0 * states.jobs / sum(states.jobs) over () as jobs_pct,
    states.gpu_h,
    100.0 * states.gpu_h / nullif(sum(stats.exact(states.gpu_h)) over (), 0) as gpu_h_pct
from states
order by states.jobs desc, final_state asc;

comment on macro table helios.states is 'Jobs and their GPU-hours per outcome, and the percentages of the total. Following the publisher, TIMEOUT and NODE_FAIL count as failed; SUSPENDED counts as unknown.';
