-- How large is Acme: jobs, GPU-hours and users of each cluster and of both?
-- caveat: acme.cpu_jobs_included
-- caveat: acme.paper_counts_more_jobs
-- chart: bar x=cluster y=gpu_h omit=both
create or replace macro acme.totals() as table
with clusters as (
    select
        known.place,
        known.cluster,
        known.part
    from (
        values
        (1, 'seren', 'seren'),
        (2, 'kalos', 'kalos'),
        (3, 'both', 'seren'),
        (3, 'both', 'kalos')
    ) as known (place, cluster, part)
)

-- Outward from the list, so that a cluster without jobs is there too.
select
    clusters.cluster,
    count(job.cluster) as jobs,
    count(*) filter (where job.requested_gpus > 0) as gpu_jobs,
    count(*) filter (where job.requested_gpus = 0) as cpu_jobs,
    fsum(job.gpu_h) filter (where job.requested_gpus > 0) as gpu_h,
    avg(job.requested_gpus) filter (where job.requested_gpus > 0) as mean_gpus,
    median(job.published_duration_s) filter (where job.requested_gpus > 0) as median_run_s,
    count(distinct job.user_id) filter (where job.requested_gpus > 0) as users
from clusters
left join acme.job as job on clusters.part = job.cluster
group by clusters.place, clusters.cluster
order by clusters.place;

comment on macro table acme.totals is 'All jobs, those with and without a GPU; and of the GPU jobs the GPU-hours, recomputed from the timestamps, the mean number of GPUs, the median of the published durations, and the users.';
