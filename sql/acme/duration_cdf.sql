-- Run time distribution by cluster (Acme GPU jobs)
-- caveat: acme.paper_counts_more_jobs
-- resolves_caveat: acme.cpu_jobs_included
-- chart: step x=run_s:log y=jobs_pct color=cluster with=every_value note=Share of the jobs that ended; others have no run time.
-- column: jobs: GPU jobs with at most this run time
create or replace macro acme.duration_cdf(
    by_publisher boolean := false, every_value boolean := false
) as table
with powers as (
    select
        unnest([
            1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768,
            65536, 131072, 262144, 524288, 1048576,
        ]) as point_s
    where not every_value
),

-- Groups jobs by run time, so that the join with the points stays small.
durations as (
    select
        cluster,
        case when by_publisher then published_duration_s else run_s end as lasted_s,
        count(*) as jobs
    from acme.job
    where requested_gpus > 0
    group by all
),

points as (
    select
        clusters.cluster,
        cast(powers.point_s as double) as point_s
    from (select distinct cluster from durations) as clusters
    cross join powers
    union all
    select
        series as cluster,
        value as point_s
    from stats.cdf_points('durations', cluster, lasted_s, jobs)
    where every_value
)

select
    durations.cluster,
    points.point_s as run_s,
    cast(
        coalesce(sum(durations.jobs) filter (where durations.lasted_s <= points.point_s), 0) as bigint
    ) as jobs,
    100.0 * coalesce(sum(durations.jobs) filter (where durations.lasted_s <= points.point_s), 0)
    / nullif(sum(durations.jobs) filter (where durations.lasted_s is not null), 0) as jobs_pct
from durations
inner join points on durations.cluster = points.cluster
group by durations.cluster, points.point_s
order by durations.cluster, points.point_s;

comment on macro table acme.duration_cdf is 'GPU jobs with a run time, from start to end, of at most the given value, and their share of the GPU jobs of the cluster whose run time is known. Jobs that never started or had not ended are left out.';
