-- How do Acme's jobs end, by count and by GPU time?
-- caveat: acme.states_beyond_readme
-- caveat: acme.paper_counts_more_jobs
-- param: on_cluster: cluster to count
-- choices: on_cluster: seren kalos
-- param: gpu_only: count only jobs that request a GPU
-- chart: bar x=state y=gpu_h_pct
create or replace macro acme.states(on_cluster varchar := 'seren', gpu_only boolean := true) as table
with states as (
    select
        state,
        count(*) as jobs,
        fsum(gpu_h) as gpu_h
    from acme.job
    where cluster = on_cluster and (not gpu_only or requested_gpus > 0)
    group by state
),

with_totals as (
    select
        state,
        jobs,
        gpu_h,
        sum(jobs) over () as all_jobs,
        fsum(gpu_h) over () as all_gpu_h
    from states
)

select
    state,
    jobs,
    100.0 * jobs / all_jobs as jobs_pct,
    gpu_h,
    100.0 * gpu_h / nullif(all_gpu_h, 0) as gpu_h_pct
from with_totals
order by jobs desc, state asc;

comment on macro table acme.states is 'Jobs and GPU-hours, recomputed from the timestamps, per final state as published.';
