-- Job arrivals by hour of the week (Acme GPU jobs)
-- answers: hour of day
-- caveat: acme.paper_counts_more_jobs
-- resolves_caveat: acme.cpu_jobs_included
-- chart: heat x=hour_of_day y=weekday color=jobs
-- column: hour_of_day [no unit]: Hour of the day at the location of the cluster, 0 to 23
-- column: weekday [no unit]: Day of the week at the location of the cluster, 1 Monday to 7 Sunday
-- column: jobs: GPU jobs of the cluster
create or replace macro acme.arrivals_by_hour(on_cluster varchar := 'seren') as table
-- Seconds in UTC+8: the hour of a timestamp depends on the time zone of the client.
with submitted as ( -- noqa: ST03
    select epoch_us(submit_time) / 1e6 + 28800 as local_s
    from acme.job
    where cluster = on_cluster and requested_gpus > 0
)

select
    cast(hour_of_day as integer) as hour_of_day,
    cast(weekday as integer) as weekday,
    jobs
from stats.jobs_by_week_hour('submitted', local_s)
order by weekday, hour_of_day;

comment on macro table acme.arrivals_by_hour is 'GPU jobs submitted in each hour of the week in UTC+8; weekday is 1 for Monday to 7 for Sunday.';
