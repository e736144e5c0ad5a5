-- GPU energy and mean power per day (Acme GPUs)
-- answers: energy
-- column: day: Day at the location of the cluster
-- column: energy_kwh: Energy over the time that samples cover
-- column: mean_power_w: Mean power of a GPU over the samples
-- chart: line x=day y=mean_power_w color=cluster yname=mean_power_of_a_GPU_w title=Mean power of a GPU per day (Acme GPUs)
create or replace macro acme.power_by_day() as table
with clock as (
    select local_offset_s
    from catalog.clocks
    where clock = 'acme.telemetry'
),

hours as (
    select
        cluster,
        epoch_us(hour) / 1e6 + (select clock.local_offset_s from clock) as start_s,
        energy_kwh,
        mean_power_w,
        samples
    from acme.power_hourly
),

days as (
    select
        cluster,
        cast(floor(start_s / 86400) as integer) as day_number,
        energy_kwh,
        mean_power_w,
        samples
    from hours
)

select
    cluster,
    date '1970-01-01' + day_number as day,
    stats.fsum(energy_kwh) as energy_kwh,
    stats.fsum(mean_power_w * samples) / nullif(sum(samples), 0) as mean_power_w
from days
group by cluster, day_number
order by cluster, day;

comment on macro table acme.power_by_day is 'Energy of all GPUs over the time covered by samples, and mean of the power samples, per cluster and day in UTC+8.';
