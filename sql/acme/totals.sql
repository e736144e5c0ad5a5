-- Jobs, GPU-hours and users by cluster (Acme jobs)
-- caveat: acme.cpu_jobs_included
-- caveat: acme.paper_counts_more_jobs
-- param: by_publisher: by the published duration and GPU time, which on Kalos may include the queue, not by end - start
-- param: with_total: add rows called all, each behind the rows that it takes together, as traces query does in its tables
-- chart: bar x=cluster y=gpu_h
-- column: jobs: All jobs, with a GPU or without
-- column: gpu_h: GPU-hours of all GPU jobs whose run time is known
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
lasted as (
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
    count(lasted.cluster) as jobs,
    count(*) filter (where lasted.requested_gpus > 0) as gpu_jobs,
    count(*) filter (where lasted.requested_gpus = 0) as cpu_jobs,
    fsum(lasted.lasted_gpu_h) filter (where lasted.requested_gpus > 0) as gpu_h,
    avg(lasted.requested_gpus) filter (where lasted.requested_gpus > 0) as mean_gpus,
    median(lasted.lasted_s) filter (where lasted.requested_gpus > 0) as median_run_s,
    count(distinct lasted.user_id) filter (where lasted.requested_gpus > 0) as users
from clusters
left join lasted on clusters.part = lasted.cluster
group by clusters.place, clusters.cluster
order by clusters.place;

comment on macro table acme.totals is 'All jobs, jobs with and without a GPU, and, for GPU jobs, GPU-hours, mean number of GPUs, median run time from start to end, and users, per cluster. GPU-hours and the median leave out jobs that never started or had not ended.';
