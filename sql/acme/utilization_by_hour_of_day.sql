-- Utilisation by hour of day (Acme GPUs and nodes)
-- column: hour_of_day [no unit]: Hour of the day at the location of the cluster, 0 to 23
-- column: mean_pct: Mean of all samples
-- chart: line x=hour_of_day y=mean_pct color=cluster yname=mean_utilisation_pct note=Hours in UTC+8. Hours without samples have no point.
create or replace macro acme.utilization_by_hour_of_day(
    -- [GPU_UTIL MEM_COPY_UTIL SM_ACTIVE SM_OCCUPANCY PIPE_TENSOR_ACTIVE DRAM_ACTIVE NODE_CPU_UTILIZATION
    -- NODE_MEMORY_UTILIZATION]
    on_metric varchar := 'GPU_UTIL'
) as table
with clock as (
    select local_offset_s
    from catalog.clocks
    where clock = 'acme.telemetry'
),

hours as (
    select
        cluster,
        stats.hour_of_day(epoch_us(hour) / 1e6 + (select clock.local_offset_s from clock)) as hour_of_day,
        mean_pct,
        samples
    from acme.utilization_hourly
    where metric = on_metric
)

select
    cluster,
    hour_of_day,
    stats.fsum(mean_pct * samples) / nullif(sum(samples), 0) as mean_pct
from hours
group by cluster, hour_of_day
order by cluster, hour_of_day;

comment on macro table acme.utilization_by_hour_of_day is 'Mean of all samples per cluster and hour of the day in UTC+8.';
