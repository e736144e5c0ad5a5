-- Job arrivals by hour of the week (Philly jobs)
-- answers: hour of day
-- chart: heat x=hour_of_day y=weekday color=jobs
-- column: hour_of_day [no unit]: Hour of the job log's clock, whose time zone is not stated
-- column: weekday [no unit]: 1 for Monday to 7 for Sunday, on the job log's clock
-- column: jobs: Jobs submitted in that hour of the week
create or replace macro philly.arrivals_by_hour() as table
with submitted as ( -- noqa: ST03
    select submit_s
    from philly.job_run
)

select
    hour_of_day,
    weekday,
    jobs
from stats.jobs_by_week_hour('submitted', submit_s)
order by weekday, hour_of_day;

comment on macro table philly.arrivals_by_hour is 'Jobs submitted in each hour of the week on the clock of the job log. Its time zone is not documented, so the hours of the cluster may be others.';
