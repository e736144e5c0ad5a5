-- Jobs, GPU-hours and users by cluster (Acme jobs)
-- caveat: acme.cpu_jobs_included
-- caveat: acme.paper_counts_more_jobs
-- chart: bar x=cluster y=gpu_h title=GPU-hours by cluster (Acme jobs)
-- column: cluster: Cluster, or all
-- column: jobs: All jobs, with a GPU or without
-- column: gpu_jobs: Jobs that request a GPU or a part of one
-- column: cpu_jobs: Jobs that request no GPU
-- column: gpu_h: GPU-hours of all GPU jobs whose run time is known
-- column: mean_gpus: Mean number of GPUs of a job
create or replace macro acme.totals(by_publisher boolean := false, with_total boolean := false) as table
with clusters as (
    select
        known.place,
        known.cluster,
        known.part
    from (
        values
        (1, 'seren', 'seren'),
        (2, 'kalos', 'kalos'),
        (3, 'all', 'seren'),
        (3, 'all', 'kalos')
    ) as known (place, cluster, part)
    where with_total or known.cluster <> 'all'
),

-- Run time and GPU-hours of each job: published or measured.
timed_jobs as (
    select
        cluster,
        user_id,
        requested_gpus,
        case when by_publisher then published_duration_s else run_s end as lasted_s,
        case when by_publisher then published_gpu_h else gpu_h end as lasted_gpu_h
    from acme.job
)

-- Left join: includes clusters without jobs.
select
    clusters.cluster,
    count(timed_jobs.cluster) as jobs,
    count(*) filter (where timed_jobs.requested_gpus > 0) as gpu_jobs,
    count(*) filter (where timed_jobs.requested_gpus = 0) as cpu_jobs,
    stats.fsum(case when timed_jobs.requested_gpus > 0 then timed_jobs.lasted_gpu_h end) as gpu_h,
    avg(timed_jobs.requested_gpus) filter (where timed_jobs.requested_gpus > 0) as mean_gpus,
    median(timed_jobs.lasted_s) filter (where timed_jobs.requested_gpus > 0) as median_run_s,
    count(distinct timed_jobs.user_id) filter (where timed_jobs.requested_gpus > 0) as users
from clusters
left join timed_jobs on clusters.part = timed_jobs.cluster
group by clusters.place, clusters.cluster
order by clusters.place;

comment on macro table acme.totals is 'All jobs, jobs with and without a GPU, and, for GPU jobs, GPU-hours, mean number of GPUs, median run time from start to end, and users, per cluster. GPU-hours and the median leave out jobs that never started or had not ended.';
