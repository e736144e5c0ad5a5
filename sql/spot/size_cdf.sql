-- Job size distribution and GPU-hours by size (spot jobs)
-- answers: requested GPUs
-- resolves_caveat: spot.demand_over_capacity
-- chart: step x=at_most_gpus:log y=jobs_pct color=job_type with=every_value xname=requested_gpus title=Job size distribution by job type (spot jobs) note=HP: high priority.
-- column: at_most_gpus: Upper bound of the GPUs that a counted job requests
-- column: jobs: Jobs of the type that request at most this number of GPUs
-- column: jobs_pct: Share of the jobs of the type
-- column: gpu_h_pct: Share of the GPU-hours of the type
create or replace macro spot.size_cdf(
    -- one row per observed job size instead of powers of two
    every_value boolean := false
) as table
with powers as (
    select unnest([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]) as at_most_gpus
    where not every_value
),

-- Groups jobs by size, so that the join with the points stays small.
sizes as (
    select
        job_type,
        requested_gpus,
        count(*) as jobs,
        stats.fsum(gpu_h) as gpu_h
    from spot.job_demand
    group by job_type, requested_gpus
),

points as (
    select
        types.job_type,
        cast(powers.at_most_gpus as double) as at_most_gpus
    from (select distinct job_type from sizes) as types
    cross join powers
    union all
    select
        job_type,
        requested_gpus as at_most_gpus
    from sizes
    where every_value and requested_gpus > 0
)

select
    sizes.job_type,
    points.at_most_gpus,
    cast(
        coalesce(sum(sizes.jobs) filter (where sizes.requested_gpus <= points.at_most_gpus), 0) as bigint
    ) as jobs,
    100.0 * coalesce(sum(sizes.jobs) filter (where sizes.requested_gpus <= points.at_most_gpus), 0)
    / nullif(sum(sizes.jobs), 0) as jobs_pct,
    100.0 * coalesce(stats.fsum(
        case when sizes.requested_gpus <= points.at_most_gpus then sizes.gpu_h end
    ), 0)
    / nullif(stats.fsum(sizes.gpu_h), 0) as gpu_h_pct
from sizes
inner join points on sizes.job_type = points.job_type
group by sizes.job_type, points.at_most_gpus
order by sizes.job_type, points.at_most_gpus;

comment on macro table spot.size_cdf is 'Jobs whose workers together request at most the given number of GPUs, and their share of the jobs and GPU-hours of the type.';
