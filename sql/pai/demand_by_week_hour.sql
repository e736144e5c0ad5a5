-- Requested resources by hour of the week (PAI instances)
-- resolves_caveat: pai.notebook_week_starts_later
-- resolves_caveat: pai.shifted_clock
-- column: mean_requested_cpus: Mean requested CPU cores
-- column: mean_requested_gpus: Mean requested GPUs
-- column: hours [h]: Hours that the means are over
-- column: unended_instances: Instances that started in the period without an end, left out of the sums
-- chart: heat x=hour_of_day y=weekday color=mean_requested_gpus title=Requested GPUs by hour of the week (PAI instances)
create or replace macro pai.demand_by_week_hour(
    from_hour bigint := 568, to_hour bigint := 1743
) as table
select
    weekday,
    hour_of_day,
    stats.favg(requested_cpus) as mean_requested_cpus,
    stats.favg(requested_gpus) as mean_requested_gpus,
    count(*) as hours,
    cast(sum(unended_instances) as bigint) as unended_instances
from pai.demand_hourly
where hour between from_hour and to_hour
group by weekday, hour_of_day
order by weekday, hour_of_day;

comment on macro table pai.demand_by_week_hour is
'Means over the weeks of the resources that running instances requested, per hour of the week in China '
'(weekday is 1 for Monday to 7 for Sunday), and the number of hours averaged. Instances without an end '
'are left out, so the means are too low; unended_instances is the number of them that started in these '
'hours. The default covers seven whole weeks, Sunday to Saturday: from hour 568 (1970-01-25 00:00 in '
'China), where the publisher''s weekly plots begin, to hour 1743. The last two days of the trace come '
'after that.';
