-- Job size distribution and GPU-hours by size (Acme GPU jobs)
-- caveat: acme.paper_counts_more_jobs
-- resolves_caveat: acme.cpu_jobs_included
-- chart: step x=at_most_gpus:log y=jobs_pct color=cluster with=every_value xname=requested_gpus title=Job size distribution by cluster (Acme GPU jobs)
-- column: at_most_gpus: Upper bound of the GPUs that a counted job requests
-- column: jobs: GPU jobs that request at most this number of GPUs
-- column: larger_or_equal_gpu_h_pct: Share of the GPU-hours in jobs of at least this number of GPUs
create or replace macro acme.gpu_count_cdf(
    -- one row per observed job size instead of powers of two
    every_value boolean := false
) as table
with powers as (
    select unnest([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048]) as at_most_gpus
    where not every_value
),

-- Groups jobs by size, so that the join with the points stays small.
sizes as (
    select
        cluster,
        requested_gpus,
        count(*) as jobs,
        stats.fsum(gpu_h) as gpu_h
    from acme.job
    where requested_gpus > 0
    group by cluster, requested_gpus
),

points as (
    select
        clusters.cluster,
        cast(powers.at_most_gpus as bigint) as at_most_gpus
    from (select distinct cluster from sizes) as clusters
    cross join powers
    union all
    select
        cluster,
        requested_gpus as at_most_gpus
    from sizes
    where every_value
)

select
    sizes.cluster,
    points.at_most_gpus,
    cast(
        coalesce(sum(sizes.jobs) filter (where sizes.requested_gpus <= points.at_most_gpus), 0) as bigint
    ) as jobs,
    100.0 * coalesce(sum(sizes.jobs) filter (where sizes.requested_gpus <= points.at_most_gpus), 0)
    / nullif(sum(sizes.jobs), 0) as jobs_pct,
    100.0 * coalesce(stats.fsum(
        case when sizes.requested_gpus <= points.at_most_gpus then sizes.gpu_h end
    ), 0)
    / nullif(stats.fsum(sizes.gpu_h), 0) as gpu_h_pct,
    100.0 * coalesce(stats.fsum(
        case when sizes.requested_gpus >= points.at_most_gpus then sizes.gpu_h end
    ), 0)
    / nullif(stats.fsum(sizes.gpu_h), 0) as larger_or_equal_gpu_h_pct
from sizes
inner join points on sizes.cluster = points.cluster
group by sizes.cluster, points.at_most_gpus
order by sizes.cluster, points.at_most_gpus;

comment on macro table acme.gpu_count_cdf is 'GPU jobs that request at most the given number of GPUs, their share of the GPU jobs and GPU-hours of the cluster, and the share of GPU-hours in jobs of at least that many GPUs.';
