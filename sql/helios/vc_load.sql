-- GPU use and waits by virtual cluster (Helios GPU jobs)
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: helios.total_is_a_column
-- resolves_caveat: helios.vc_names_are_shared
-- resolves_caveat: helios.zone_is_assumed
-- chart: bar x=vc y=held_of_capacity_pct facet=cluster yname=held_gpus_over_GPUs_of_the_virtual_cluster_pct title=Held GPUs in percent of the capacity by virtual cluster (Helios GPU jobs)
-- column: cluster: Cluster, or all
-- column: vc: Virtual cluster
-- column: capacity_gpus: GPUs of the virtual cluster, mean over the days on which it has any
-- column: jobs: GPU jobs of the virtual cluster in the cluster of the row
-- column: held_gpu_h: GPU-hours held, over all instances of a job, re-runs included
-- column: held_of_capacity_pct: Held GPU-hours in percent of those of the capacity
-- column: full_hours_pct: Share of the hours in which jobs hold at least 95 % of the capacity
-- column: full_jobs_pct: Share of the jobs that were submitted in such an hour
-- column: median_wait_full_s: Median queueing delay of jobs submitted in a full hour
-- column: p90_wait_full_s: 90th percentile of the queueing delay of jobs submitted in a full hour
-- column: median_wait_else_s: Median queueing delay of jobs submitted in another hour
-- column: p90_wait_else_s: 90th percentile of the queueing delay of jobs submitted in another hour
create or replace macro helios.vc_load(
    -- cluster to report on, or all [all Earth Saturn Uranus Venus]
    on_cluster varchar := 'all'
) as table
with jobs as (
    select
        cluster,
        partition_name as vc,
        requested_gpus,
        submit_s,
        wait_s,
        submit_s + wait_s as start_s,
        end_s,
        cast(floor(submit_s / 3600) as bigint) as submit_hour
    from helios.standard_job
    where requested_gpus > 0 and on_cluster in ('all', cluster)
),

days as (
    select
        cluster,
        vc,
        cast(floor(epoch("date") / 86400) as bigint) as day_number,
        gpus as capacity_gpus
    from helios.gpu_count
    where vc is not null and gpus > 0 and on_cluster in ('all', cluster)
),

held as (
    select
        series.cluster,
        series.vc,
        window_number as hour,
        held_s / 3600.0 as held_gpus
    from stats.held_by_window('jobs', { 'cluster': cluster, 'vc': vc }, requested_gpus, start_s, end_s, 3600)
),

-- Includes idle hours.
day_hours as (
    select
        cluster,
        vc,
        capacity_gpus,
        unnest(generate_series(24 * day_number, 24 * day_number + 23)) as hour
    from days
),

hours as (
    select
        day_hours.cluster,
        day_hours.vc,
        day_hours.hour,
        day_hours.capacity_gpus,
        coalesce(held.held_gpus, 0) as held_gpus,
        coalesce(held.held_gpus, 0) >= 0.95 * day_hours.capacity_gpus as is_full
    from day_hours
    left join held
        on day_hours.cluster = held.cluster and day_hours.vc = held.vc and day_hours.hour = held.hour
),

loads as (
    select
        cluster,
        vc,
        stats.favg(capacity_gpus) as capacity_gpus,
        stats.fsum(held_gpus) as held_gpu_h,
        stats.fsum(capacity_gpus) as capacity_gpu_h,
        100.0 * count(*) filter (where is_full) / count(*) as full_hours_pct
    from hours
    group by cluster, vc
),

submitted as (
    select
        jobs.cluster,
        jobs.vc,
        count(*) as jobs,
        100.0 * count(*) filter (where hours.is_full) / nullif(count(hours.is_full), 0) as full_jobs_pct,
        stats.percentiles(case when hours.is_full then jobs.wait_s end) as wait_full_s,
        stats.percentiles(case when not hours.is_full then jobs.wait_s end) as wait_else_s
    from jobs
    left join hours
        on jobs.cluster = hours.cluster and jobs.vc = hours.vc and jobs.submit_hour = hours.hour
    group by jobs.cluster, jobs.vc
)

select
    coalesce(loads.cluster, submitted.cluster) as cluster,
    coalesce(loads.vc, submitted.vc) as vc,
    loads.capacity_gpus,
    coalesce(submitted.jobs, 0) as jobs,
    loads.held_gpu_h,
    100.0 * loads.held_gpu_h / loads.capacity_gpu_h as held_of_capacity_pct,
    loads.full_hours_pct,
    submitted.full_jobs_pct,
    submitted.wait_full_s.median as median_wait_full_s,
    submitted.wait_full_s.p90 as p90_wait_full_s,
    submitted.wait_else_s.median as median_wait_else_s,
    submitted.wait_else_s.p90 as p90_wait_else_s
from loads
full join submitted on loads.cluster = submitted.cluster and loads.vc = submitted.vc
order by coalesce(loads.cluster, submitted.cluster), coalesce(loads.vc, submitted.vc);

comment on macro table helios.vc_load is
'Use of the GPUs of each virtual cluster, and queueing delays of its GPU jobs in full and in other hours. '
'Hours are those of the days on which the virtual cluster has GPUs; capacity_gpus is the mean over these '
'days. held_gpu_h are the GPU-hours that jobs hold in these hours from start to end, '
'held_of_capacity_pct their share of the GPU-hours of the capacity, above 100 where jobs run on GPUs of '
'others. An hour is full if jobs hold at least 95 % of the GPUs of its day in the mean; full_hours_pct is '
'the percentage of full hours. full_jobs_pct is the percentage of the jobs submitted in full hours, of '
'those submitted on a day with a known capacity; median_wait_full_s and p90_wait_full_s are the queueing '
'delays of these jobs, median_wait_else_s and p90_wait_else_s those of jobs submitted in other hours. '
'Jobs that never started have no delay, and jobs without an end hold nothing; both are missing there. '
'Without a daily capacity, only jobs is known.';
