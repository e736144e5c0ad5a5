-- Jobs and GPU-hours by workload type (Acme GPU jobs)
-- answers: workload
-- caveat: acme.figure_differs_from_paper
-- caveat: acme.paper_counts_more_jobs
-- caveat: acme.types_differ_by_cluster
-- resolves_caveat: acme.cpu_jobs_included
-- chart: bar x=workload_type y=gpu_h_pct title=Share of GPU-hours by workload type (Acme GPU jobs)
-- column: jobs: GPU jobs of the cluster
create or replace macro acme.type_shares(on_cluster varchar := 'seren') as table
with types as (
    select
        workload_type,
        count(*) as jobs,
        stats.fsum(gpu_h) as gpu_h
    from acme.job
    where cluster = on_cluster and requested_gpus > 0
    group by workload_type
)

select
    workload_type,
    types.jobs,
    100.0 * types.jobs / sum(types.jobs) over () as jobs_pct,
    types.gpu_h,
    100.0 * types.gpu_h / nullif(sum(stats.exact(types.gpu_h)) over (), 0) as gpu_h_pct
from types
order by types.gpu_h desc nulls last, workload_type asc nulls last;

comment on macro table acme.type_shares is 'GPU jobs and their GPU-hours, computed from the timestamps, per type of work. A job that never started has no GPU-hours.';
