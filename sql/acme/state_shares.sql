-- How do Acme's GPU jobs end, by count and by GPU time?
-- caveat: acme.states_beyond_readme
-- caveat: acme.failure_needs_a_rule
-- caveat: acme.summary_does_not_reproduce
-- caveat: acme.paper_counts_more_jobs
-- param: on_cluster: cluster to count
-- choices: on_cluster: seren kalos
-- param: by_outcome: the three classes of cluster_summary.csv, instead of the states as published
-- chart: bar x=final_state y=gpu_h_pct
create or replace macro acme.state_shares(
    on_cluster varchar := 'seren', by_outcome boolean := false
) as table
with ended as (
    select
        gpu_h,
        case when by_outcome then outcome else state end as final_state
    from acme.job
    where cluster = on_cluster and requested_gpus > 0
),

states as (
    select
        final_state,
        count(*) as jobs,
        fsum(gpu_h) as gpu_h
    from ended
    group by final_state
),

with_totals as (
    select
        final_state,
        jobs,
        gpu_h,
        sum(jobs) over () as all_jobs,
        fsum(gpu_h) over () as all_gpu_h
    from states
)

select
    final_state,
    jobs,
    100.0 * jobs / all_jobs as jobs_pct,
    gpu_h,
    100.0 * gpu_h / nullif(all_gpu_h, 0) as gpu_h_pct
from with_totals
-- What has no final state yet is no way to end.
order by final_state is null asc, jobs desc, final_state asc;

comment on macro table acme.state_shares is 'GPU jobs and their GPU-hours, recomputed from the timestamps, per final state or per outcome; NULL, in the last row, is an outcome that is not known.';
