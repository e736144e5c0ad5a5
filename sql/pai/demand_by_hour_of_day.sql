-- Requested resources by hour of day (running PAI instances)
-- resolves_caveat: pai.notebook_week_starts_later
-- resolves_caveat: pai.shifted_clock
-- column: mean_requested_cpus: Mean requested CPU cores
-- column: mean_requested_gpus: Mean requested GPUs
-- column: mean_requested_memory_gb: Mean requested memory
-- column: mean_sharing_gpus: Mean GPUs requested by instances of less than one GPU
-- column: mean_whole_gpus: Mean GPUs requested by instances of one or more GPUs
-- column: hours [h]: Hours that the means are over
-- column: unended_instances: Instances that started in the period without an end, left out of the sums
-- chart: line x=hour_of_day y=mean_requested_gpus title=Requested GPUs by hour of day (running PAI instances)
create or replace macro pai.demand_by_hour_of_day(
    from_hour bigint := 568, to_hour bigint := 1743
) as table
select
    hour_of_day,
    stats.favg(requested_cpus) as mean_requested_cpus,
    stats.favg(requested_gpus) as mean_requested_gpus,
    stats.favg(requested_memory_gb) as mean_requested_memory_gb,
    stats.favg(sharing_gpus) as mean_sharing_gpus,
    stats.favg(whole_gpus) as mean_whole_gpus,
    count(*) as hours,
    cast(sum(unended_instances) as bigint) as unended_instances
from pai.demand_hourly
where hour between from_hour and to_hour
group by hour_of_day
order by hour_of_day;

comment on macro table pai.demand_by_hour_of_day is
'Means over the days of the resources that running instances requested, per hour of the day in China, and '
'the number of hours averaged. Instances without an end are left out, so the means are too low; '
'unended_instances is the number of them that started in these hours. The default covers seven whole '
'weeks, Sunday to Saturday: from hour 568 (1970-01-25 00:00 in China), where the publisher''s weekly '
'plots begin, to hour 1743. The last two days of the trace come after that.';
