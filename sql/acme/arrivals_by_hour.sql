-- Job arrivals by hour of the week (Acme GPU jobs)
-- answers: hour of day
-- caveat: acme.paper_counts_more_jobs
-- resolves_caveat: acme.cpu_jobs_included
-- chart: heat x=hour_of_day y=weekday color=jobs
-- column: hour_of_day [no unit]: Hour of the day at the location of the cluster, 0 to 23
-- column: weekday [no unit]: Day of the week at the location of the cluster, 1 Monday to 7 Sunday
-- column: jobs: GPU jobs of the cluster
create or replace macro acme.arrivals_by_hour(on_cluster varchar := 'seren') as table
with hours as (
    select unnest([
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
    ]) as hour_of_day
),

weekdays as (
    select unnest([1, 2, 3, 4, 5, 6, 7]) as weekday
),

-- Hours since 1970 in UTC+8: the hour of a timestamp depends on the time zone of the client.
submitted as (
    select cast(floor(epoch_us(submit_time) / 1e6 / 3600) + 8 as bigint) as local_hour
    from acme.job
    where cluster = on_cluster and requested_gpus > 0
),

-- 1970-01-01 was a Thursday, the fourth day of the week. Before 1970, a remainder may be negative.
placed as (
    select
        (local_hour % 24 + 24) % 24 as hour_of_day,
        1 + ((cast(floor(local_hour / 24) as bigint) + 3) % 7 + 7) % 7 as weekday,
        count(*) as jobs
    from submitted
    group by all
)

select
    hours.hour_of_day,
    weekdays.weekday,
    coalesce(placed.jobs, 0) as jobs
from hours
cross join weekdays
left join placed on hours.hour_of_day = placed.hour_of_day and weekdays.weekday = placed.weekday
order by weekdays.weekday, hours.hour_of_day;

comment on macro table acme.arrivals_by_hour is 'GPU jobs submitted in each hour of the week in UTC+8; weekday is 1 for Monday to 7 for Sunday.';
