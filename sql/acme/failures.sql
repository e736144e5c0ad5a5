-- Failed jobs and GPU-hours by cluster (Acme jobs)
-- caveat: acme.failure_needs_a_rule
-- caveat: acme.paper_counts_more_jobs
-- caveat: acme.states_beyond_readme
-- resolves_caveat: acme.cpu_jobs_included
-- chart: bar x=cluster y=failed_gpu_h_pct title=Share of GPU-hours of failed jobs by cluster (Acme jobs)
-- column: failed_jobs: Jobs that failed
-- column: failed_jobs_pct: Share of the jobs of the cluster that failed
-- column: failed_gpu_h: GPU-hours of jobs that failed
-- column: failed_gpu_h_pct: Share of the GPU-hours of the cluster in jobs that failed
-- column: covered_failed_pct: Share of the failed jobs with known GPU-hours
create or replace macro acme.failures(
    gpu_only boolean := true, preempted_fails boolean := false, by_publisher boolean := false
) as table
with classified as (
    select
        cluster,
        case when by_publisher then published_gpu_h else gpu_h end as lasted_gpu_h,
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
        count(lasted_gpu_h) filter (where has_failed) as covered_failed_jobs,
        stats.fsum(lasted_gpu_h) as gpu_h,
        stats.fsum(case when has_failed then lasted_gpu_h end) as known_failed_gpu_h
    from classified
    group by cluster
),

-- Without a failed job they held 0 GPU-hours; if no time of any is known, an unknown number.
summed as (
    select
        cluster,
        jobs,
        failed_jobs,
        covered_failed_jobs,
        gpu_h,
        case when failed_jobs = 0 then 0 else known_failed_gpu_h end as failed_gpu_h
    from counted
)

select
    cluster,
    failed_jobs,
    100.0 * failed_jobs / jobs as failed_jobs_pct,
    failed_gpu_h,
    100.0 * failed_gpu_h / nullif(gpu_h, 0) as failed_gpu_h_pct,
    100.0 * covered_failed_jobs / nullif(failed_jobs, 0) as covered_failed_pct
from summed
order by cluster;

comment on macro table acme.failures is
'Jobs that ended FAILED, TIMEOUT or NODE_FAIL (or PREEMPTED with preempted_fails), and the GPU-hours that '
'they held from start to end, or the published GPU-hours with by_publisher, which on Kalos include the '
'queueing delay: as counts, and in percent of the jobs and of the GPU-hours of the cluster. '
'covered_failed_pct is the percentage of failed jobs whose GPU-hours are known; where there are none, '
'failed_gpu_h and failed_gpu_h_pct are NULL.';
