-- Requested resources by hour of the week (PAI instances)
-- param: from_hour: first hour that counts, on the shifted clock
-- range: from_hour: 0 to 100000
-- param: to_hour: last hour that counts
-- range: to_hour: 0 to 100000
-- chart: heat x=hour_of_day y=weekday color=mean_requested_gpus
create or replace macro pai.demand_by_week_hour(
    from_hour bigint := 568, to_hour bigint := 1743
) as table
select
    weekday,
    hour_of_day,
    favg(requested_cpus) as mean_requested_cpus,
    favg(requested_gpus) as mean_requested_gpus,
    count(*) as hours,
    cast(sum(unended_instances) as bigint) as unended_instances
from pai.demand_hourly
where hour between from_hour and to_hour
group by weekday, hour_of_day
order by weekday, hour_of_day;

comment on macro table pai.demand_by_week_hour is 'Means over the weeks of what the running instances planned, per hour of the week in China, 1 Monday to 7 Sunday, and over how many hours. Left out are instances without an end, so that the means are too low by what they held: unended_instances started in these hours. The default is seven whole weeks, Sunday to Saturday: from hour 568 (1970-01-25 00:00 in China), where the publisher''s weekly plots begin, to 1743, short of the trace''s last two days.';
