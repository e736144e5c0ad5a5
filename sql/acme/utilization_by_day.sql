-- GPU utilisation per day (Acme GPUs)
-- caveat: acme.capacity_from_paper
-- caveat: acme.telemetry_covers_part
-- caveat: acme.telemetry_units_by_convention
-- resolves_caveat: acme.kalos_looks_idle
-- chart: line x=day y=mean_pct color=cluster yname=mean_utilisation_pct
-- column: mean_pct: Mean of all samples
-- column: median_gpu_pct: Median over GPUs of each one's mean of the day
-- column: zero_pct: Share of the samples that are 0
-- column: gpus_over_pct: Share of the GPUs whose mean of the day is above the threshold
-- column: devices: GPUs with a sample on the day
-- column: devices_pct: Devices in percent of the published fleet
-- column: samples: Samples of the metric on the day
-- column: day_covered_pct: Share of the day's minutes with a sample
create or replace macro acme.utilization_by_day(
    -- [GPU_UTIL MEM_COPY_UTIL SM_ACTIVE SM_OCCUPANCY PIPE_TENSOR_ACTIVE DRAM_ACTIVE]
    on_metric varchar := 'GPU_UTIL',
    -- a GPU is busy if its daily mean is above this percentage [0 to 100]
    over_pct double := 50
) as table
with clock as (
    select local_offset_s
    from catalog.clocks
    where clock = 'acme.telemetry'
),

gpu_days as (
    select
        cluster,
        day,
        samples,
        total,
        zero_samples
    from acme.device_daily
    where metric = on_metric and day is not null and samples > 0
),

days as (
    select
        cluster,
        day,
        count(*) as devices,
        sum(samples) as samples,
        stats.fsum(total) as total,
        sum(zero_samples) as zeros,
        median(total / samples) as median_gpu_pct,
        count(*) filter (where total / samples > over_pct) as gpus_over
    from gpu_days
    group by cluster, day
),

minutes as (
    select
        cluster,
        floor(epoch_us(time) / 1e6 / 60) as minute_number,
        floor((epoch_us(time) / 1e6 + (select clock.local_offset_s from clock)) / 86400) as day_number
    from acme.telemetry_time
    where source_table = 'gpu_metric' and metric = on_metric and device_samples > 0 and isfinite(time)
),

recorded as (
    select
        cluster,
        date '1970-01-01' + cast(day_number as integer) as day,
        count(distinct minute_number) as minutes
    from minutes
    group by cluster, day_number
)

select
    days.cluster,
    days.day,
    days.total / days.samples as mean_pct,
    days.median_gpu_pct,
    100.0 * days.zeros / days.samples as zero_pct,
    100.0 * days.gpus_over / days.devices as gpus_over_pct,
    days.devices,
    100.0 * days.devices / fleet.gpus as devices_pct,
    cast(days.samples as bigint) as samples,
    100.0 * recorded.minutes / 1440 as day_covered_pct
from days
inner join recorded on days.cluster = recorded.cluster and days.day = recorded.day
left join acme.cluster_capacity as fleet on days.cluster = fleet.cluster
order by days.cluster, days.day;

comment on macro table acme.utilization_by_day is
'One row per cluster and day in UTC+8 on which a GPU has a sample of the metric. Empty cells and columns '
'whose name is not an address are left out. mean_pct is the mean of all samples and zero_pct the share of '
'samples that are 0. median_gpu_pct is the interpolated median of the daily means per GPU, and '
'gpus_over_pct the share of GPUs whose daily mean is above over_pct. devices counts GPUs with a sample; '
'devices_pct is their share of the published fleet (2,288 in Seren, 2,416 in Kalos). day_covered_pct is '
'the share of the 1,440 minutes of the day in which a GPU of the cluster has a sample; 100 means that no '
'minute is missing.';
