-- Failed jobs and GPU-hours by cluster (Acme jobs)
-- caveat: acme.failure_needs_a_rule
-- caveat: acme.states_beyond_readme
-- caveat: acme.paper_counts_more_jobs
-- chart: bar x=cluster y=failed_gpu_h_pct title=Share of GPU-hours of failed jobs by cluster (Acme jobs)
create or replace macro acme.failures(
    gpu_only boolean := true, preempted_fails boolean := false
) as table
with classified as (
    select
        cluster,
        published_gpu_h,
        coalesce(
            state in ('FAILED', 'TIMEOUT', 'NODE_FAIL') or (preempted_fails and state = 'PREEMPTED'), false
        ) as has_failed
    from acme.job
    where not gpu_only or requested_gpus > 0
),

counted as (
    select
        cluster,
        count(*) as jobs,
        count(*) filter (where has_failed) as failed_jobs,
        stats.fsum(published_gpu_h) as gpu_h,
        coalesce(stats.fsum(case when has_failed then published_gpu_h end), 0) as failed_gpu_h
    from classified
    group by cluster
)

select
    cluster,
    failed_jobs,
    100.0 * failed_jobs / jobs as failed_jobs_pct,
    failed_gpu_h,
    100.0 * failed_gpu_h / nullif(gpu_h, 0) as failed_gpu_h_pct
from counted
order by cluster;

comment on macro table acme.failures is 'Jobs that ended FAILED, TIMEOUT or NODE_FAIL (or PREEMPTED with preempted_fails) and their published GPU-hours, as counts and as percentages of the jobs and published GPU-hours of the cluster.';
