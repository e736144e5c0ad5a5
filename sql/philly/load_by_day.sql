-- Allocated GPUs and capacity per day (Philly jobs)
-- answers: calendar date
-- chart: line x=day y=held_gpus rule=capacity_gpus
-- column: day: Day of the job log, whose time zone is not stated
-- column: jobs: Jobs submitted on the day
-- column: held_gpus: GPUs held by attempts, mean over the day
-- column: capacity_gpus: GPUs of all machines: the largest number listed, used or measured for each
-- column: held_pct: Held GPUs in percent of capacity_gpus
create or replace macro philly.load_by_day() as table
with submitted as (
    select
        cast(floor(submit_s / 86400) as bigint) as day_number,
        count(*) as jobs
    from philly.job_run
    where submit_s is not null
    group by all
),

-- An attempt that ends at midnight does not count on the following day.
spans as (
    select
        allocated_gpus,
        start_s,
        end_s,
        unnest(
            generate_series(
                cast(floor(start_s / 86400) as bigint), cast(ceil(end_s / 86400) - 1 as bigint)
            )
        ) as day_number
    from philly.attempt_run
    where end_s > start_s
),

held as (
    select
        day_number,
        stats.fsum(
            allocated_gpus
            * (least(end_s, 86400 * (day_number + 1)) - greatest(start_s, 86400 * day_number))
        ) as held_gpu_s
    from spans
    group by day_number
),

covered_days as (
    select day_number from submitted
    union all
    select day_number from held
),

bounds as (
    select
        min(day_number) as first_day,
        max(day_number) as last_day
    from covered_days
),

-- Includes idle days.
days as (
    select unnest(generate_series(first_day, last_day)) as day_number
    from bounds
    where first_day is not null
),

capacity as (
    select sum(gpus) as capacity_gpus
    from philly.cluster_capacity
)

select
    date '1970-01-01' + cast(days.day_number as integer) as day,
    coalesce(submitted.jobs, 0) as jobs,
    coalesce(held.held_gpu_s, 0) / 86400.0 as held_gpus,
    cast(capacity.capacity_gpus as bigint) as capacity_gpus,
    100.0 * coalesce(held.held_gpu_s, 0) / 86400.0 / nullif(capacity.capacity_gpus, 0) as held_pct
from days
cross join capacity
left join submitted on days.day_number = submitted.day_number
left join held on days.day_number = held.day_number
order by days.day_number;

comment on macro table philly.load_by_day is 'Jobs submitted per day, GPUs that attempts hold from start to end (mean over the day), and the GPUs of all machines, of each the largest number that the machine list, the job log or the measurements have; from the first to the last day on which a job is submitted or runs.';
