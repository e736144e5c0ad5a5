-- Share of short jobs by cluster (Acme jobs)
-- caveat: acme.cpu_jobs_included
-- caveat: acme.paper_counts_more_jobs
-- column: gpu_jobs: Jobs that request a GPU or a part of one
-- column: short_jobs: GPU jobs whose run time is below the limit
-- column: short_pct: Short GPU jobs in percent of the GPU jobs
-- column: all_jobs: All jobs of the cluster, with a GPU or without
-- column: all_short_jobs: All jobs of the cluster whose run time is below the limit
-- column: all_short_pct: Short jobs in percent of all jobs
-- chart: bar x=cluster y=short_pct yname=short_jobs_pct
create or replace macro acme.short_jobs(
    -- a job is short if its run time in seconds is below this [0 to 100000000]
    under_s double := 300,
    by_publisher boolean := false
) as table
with timed_jobs as (
    select
        cluster,
        requested_gpus,
        case when by_publisher then published_duration_s else run_s end as lasted_s
    from acme.job
),

counted as (
    select
        cluster,
        count(*) filter (where requested_gpus > 0) as gpu_jobs,
        count(*) filter (where requested_gpus > 0 and lasted_s < under_s) as short_jobs,
        count(*) as all_jobs,
        count(*) filter (where lasted_s < under_s) as all_short_jobs
    from timed_jobs
    group by cluster
)

select
    cluster,
    gpu_jobs,
    short_jobs,
    100.0 * short_jobs / nullif(gpu_jobs, 0) as short_pct,
    all_jobs,
    all_short_jobs,
    100.0 * all_short_jobs / nullif(all_jobs, 0) as all_short_pct
from counted
order by cluster;

comment on macro table acme.short_jobs is 'GPU jobs with a run time below the limit and their share of all GPU jobs of the cluster, then the same over all jobs, including those without a GPU. Jobs that never started or had not ended have no run time: they count in the total but not as short.';
