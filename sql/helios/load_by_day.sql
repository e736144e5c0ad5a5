-- Allocated GPUs and capacity per day (Helios GPU jobs)
-- answers: calendar date
-- resolves_caveat: helios.gpus_change_daily
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: helios.total_is_a_column
-- resolves_caveat: helios.zone_is_assumed
-- chart: line x=day y=held_gpus rule=capacity_gpus facet=cluster
-- column: day: Day at the location of the cluster
-- column: jobs: GPU jobs submitted on the day
-- column: submitted_gpus: GPUs that submitted jobs request
-- column: held_gpus: GPUs that jobs hold, mean over the day
-- column: capacity_gpus: GPUs of the cluster on that day; NULL where the file does not list it
-- column: held_pct: Held GPUs in percent of the capacity
create or replace macro helios.load_by_day(
    -- cluster to report on, or all [all Earth Saturn Uranus Venus]
    on_cluster varchar := 'all'
) as table
with jobs as (
    select
        cluster,
        requested_gpus,
        submit_s,
        submit_s + wait_s as start_s,
        end_s
    from helios.standard_job
    where requested_gpus > 0 and on_cluster in ('all', cluster)
),

submitted as (
    select
        cluster,
        cast(floor(submit_s / 86400) as bigint) as day_number,
        count(*) as jobs,
        stats.fsum(requested_gpus) as submitted_gpus
    from jobs
    where submit_s is not null
    group by all
),

held as (
    select
        series as cluster,
        window_number as day_number,
        held_s as held_gpu_s
    from stats.held_by_window('jobs', cluster, requested_gpus, start_s, end_s, 86400)
),

covered_days as ( -- noqa: ST03
    select
        cluster,
        day_number
    from submitted
    union all
    select
        cluster,
        day_number
    from held
),

-- Includes idle days.
days as (
    select
        series as cluster,
        number as day_number
    from stats.number_range('covered_days', cluster, day_number)
),

capacity as (
    select
        cluster,
        cast(floor(epoch("date") / 86400) as bigint) as day_number,
        cast(max(gpus) as bigint) as capacity_gpus
    from helios.gpu_count
    where column_name = 'total'
    group by all
)

select
    days.cluster,
    date '1970-01-01' + cast(days.day_number as integer) as day,
    coalesce(submitted.jobs, 0) as jobs,
    coalesce(submitted.submitted_gpus, 0) as submitted_gpus,
    coalesce(held.held_gpu_s, 0) / 86400.0 as held_gpus,
    capacity.capacity_gpus,
    100.0 * coalesce(held.held_gpu_s, 0) / 86400.0 / nullif(capacity.capacity_gpus, 0) as held_pct
from days
left join submitted on days.cluster = submitted.cluster and days.day_number = submitted.day_number
left join held on days.cluster = held.cluster and days.day_number = held.day_number
left join capacity on days.cluster = capacity.cluster and days.day_number = capacity.day_number
order by days.cluster, days.day_number;

comment on macro table helios.load_by_day is
'GPU jobs submitted per day, GPUs that they request, GPUs that jobs hold from start to end (mean over the '
'day), and GPUs of the cluster on that day. Days are in local time, from the first to the last day on '
'which a GPU job of the cluster is submitted or runs.';
