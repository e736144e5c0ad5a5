-- Queueing delay distribution by workload type (Acme GPU jobs)
-- caveat: acme.types_differ_by_cluster
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: acme.kalos_duration_includes_queue
-- chart: step x=wait_s:log y=jobs_pct color=workload_type with=every_value note=Share of the jobs that started; others have no queueing delay.
-- column: jobs: GPU jobs of the type with at most this queueing delay
-- column: jobs_without_wait [jobs]: GPU jobs of the type without a known queueing delay, repeated for each point
create or replace macro acme.wait_cdf(
    on_cluster varchar := 'seren', by_publisher boolean := false, every_value boolean := false
) as table
with powers as (
    select
        unnest([
            0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768,
            65536, 131072,
        ]) as point_s
    where not every_value
),

-- Groups jobs by queueing delay, so that the join with the points stays small.
waits as (
    select
        workload_type,
        case when by_publisher then published_queue_s else wait_s end as waited_s,
        count(*) as jobs
    from acme.job
    where cluster = on_cluster and requested_gpus > 0
    group by all
),

points as (
    select
        types.workload_type,
        cast(powers.point_s as double) as point_s
    from (select distinct workload_type from waits) as types
    cross join powers
    union all
    select
        series as workload_type,
        value as point_s
    from stats.cdf_points('waits', workload_type, waited_s, jobs)
    where every_value
)

select
    waits.workload_type,
    points.point_s as wait_s,
    cast(
        coalesce(sum(waits.jobs) filter (where waits.waited_s <= points.point_s), 0) as bigint
    ) as jobs,
    cast(
        coalesce(sum(waits.jobs) filter (where waits.waited_s is null), 0) as bigint
    ) as jobs_without_wait,
    100.0 * coalesce(sum(waits.jobs) filter (where waits.waited_s <= points.point_s), 0)
    / nullif(sum(waits.jobs) filter (where waits.waited_s is not null), 0) as jobs_pct
from waits
inner join points on waits.workload_type is not distinct from points.workload_type
group by waits.workload_type, points.point_s
order by waits.workload_type asc nulls last, points.point_s asc;

comment on macro table acme.wait_cdf is 'GPU jobs with a queueing delay of at most the given value, and their share of the GPU jobs of the type whose queueing delay is known. Jobs that never started have no queueing delay and are counted apart.';
