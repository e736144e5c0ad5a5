-- Job arrivals by hour of the week (Philly jobs)
-- answers: hour of day
-- chart: heat x=hour_of_day y=weekday color=jobs
-- column: hour_of_day [no unit]: Hour of the job log's clock, whose time zone is not stated
-- column: weekday [no unit]: 1 for Monday to 7 for Sunday, on the job log's clock
-- column: jobs: Jobs submitted in that hour of the week
create or replace macro philly.arrivals_by_hour() as table
with hours as (
    select unnest(generate_series(0, 167)) as week_hour
),

-- 1970-01-01 was a Thursday: 72 hours after the beginning of a week. Before 1970, a remainder may be negative.
submitted as (
    select
        ((cast(floor(submit_s / 3600) as bigint) + 72) % 168 + 168) % 168 as week_hour,
        count(*) as jobs
    from philly.job_run
    where submit_s is not null
    group by all
)

select
    hours.week_hour % 24 as hour_of_day,
    1 + cast(floor(hours.week_hour / 24) as bigint) as weekday,
    coalesce(submitted.jobs, 0) as jobs
from hours
left join submitted on hours.week_hour = submitted.week_hour
order by hours.week_hour;

comment on macro table philly.arrivals_by_hour is 'Jobs submitted in each hour of the week on the clock of the job log. Its time zone is not documented, so the hours of the cluster may be others.';
