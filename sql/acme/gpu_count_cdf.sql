-- How many GPUs do Acme's jobs ask for, and whose is the GPU time?
-- caveat: acme.paper_counts_more_jobs
-- chart: line x=at_most_gpus:log y=jobs_pct color=cluster
-- column: jobs: GPU jobs that request so many GPUs or fewer
create or replace macro acme.gpu_count_cdf() as table
with points as (
    select unnest([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]) as at_most_gpus
),

-- Few different sizes, so that not every job meets every point.
sizes as (
    select
        cluster,
        requested_gpus,
        count(*) as jobs,
        fsum(gpu_h) as gpu_h
    from acme.job
    where requested_gpus > 0
    group by cluster, requested_gpus
)

select
    sizes.cluster,
    points.at_most_gpus,
    cast(
        coalesce(sum(sizes.jobs) filter (where sizes.requested_gpus <= points.at_most_gpus), 0) as bigint
    ) as jobs,
    100.0 * coalesce(sum(sizes.jobs) filter (where sizes.requested_gpus <= points.at_most_gpus), 0)
    / nullif(sum(sizes.jobs), 0) as jobs_pct,
    100.0 * coalesce(fsum(sizes.gpu_h) filter (where sizes.requested_gpus <= points.at_most_gpus), 0)
    / nullif(fsum(sizes.gpu_h), 0) as gpu_h_pct,
    100.0 * coalesce(fsum(sizes.gpu_h) filter (where sizes.requested_gpus >= points.at_most_gpus), 0)
    / nullif(fsum(sizes.gpu_h), 0) as larger_or_equal_gpu_h_pct
from sizes
cross join points
group by sizes.cluster, points.at_most_gpus
order by sizes.cluster, points.at_most_gpus;

comment on macro table acme.gpu_count_cdf is 'GPU jobs that ask for so many GPUs or fewer, their share of the cluster''s GPU jobs and of its GPU time, and the share of GPU time in jobs of so many GPUs or more.';
