-- What do PAI's running instances hold at each hour of the day?
-- chart: line x=hour_of_day y=mean_requested_gpus
create or replace macro pai.demand_by_hour_of_day() as table
select
    hour_of_day,
    favg(requested_cpus) as mean_requested_cpus,
    favg(requested_gpus) as mean_requested_gpus,
    favg(requested_memory_gb) as mean_requested_memory_gb,
    favg(sharing_gpus) as mean_sharing_gpus,
    favg(whole_gpus) as mean_whole_gpus
from pai.demand_hourly
group by hour_of_day
order by hour_of_day;

comment on macro table pai.demand_by_hour_of_day is 'Means over the days of what the running instances planned, per hour of the day in China.';
