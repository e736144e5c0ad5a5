-- What do PAI's running instances hold at each hour of each day of the week?
-- chart: line x=hour_of_day y=mean_requested_gpus color=weekday
create or replace macro pai.demand_by_week_hour() as table
select
    weekday,
    hour_of_day,
    favg(requested_cpus) as mean_requested_cpus,
    favg(requested_gpus) as mean_requested_gpus,
    count(*) as hours
from pai.demand_hourly
group by weekday, hour_of_day
order by weekday, hour_of_day;

comment on macro table pai.demand_by_week_hour is 'Means over the weeks of what the running instances planned, per hour of the week in China, 1 Monday to 7 Sunday.';
