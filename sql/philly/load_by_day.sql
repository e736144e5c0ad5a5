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

attempts as ( -- noqa: ST03
    select
        allocated_gpus,
        start_s,
        end_s
    from philly.attempt_run
),

held as (
    select
        window_number as day_number,
        held_s as held_gpu_s
    from stats.held_by_window('attempts', null, allocated_gpus, start_s, end_s, 86400)
),

covered_days as ( -- noqa: ST03
    select day_number from submitted
    union all
    select day_number from held
),

-- Includes idle days.
days as (
    select number as day_number
    from stats.number_range('covered_days', null, day_number)
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
