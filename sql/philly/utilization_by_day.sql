-- GPU, CPU and memory utilisation per day (Philly machines)
-- chart: line x=day y=mean_gpu_pct yname=mean_gpu_utilisation_pct title=Mean GPU utilisation per day (Philly machines)
-- column: day: Day in UTC
-- column: machines: Machines with any recorded minute, including minutes marked offline
-- column: gpu_minutes: Measured GPU-minutes
-- column: mean_gpu_pct: Mean GPU utilisation
-- column: idle_gpu_pct: Share of the measured GPU-minutes with a utilisation of 0
-- column: mean_cpu_pct: Mean CPU utilisation over machine-hours
-- column: mean_memory_pct: Mean memory utilisation over machine-hours
create or replace macro philly.utilization_by_day() as table
with hours as (
    select
        machine_id,
        cast(floor(epoch_us(hour) / 1e6 / 86400) as bigint) as day_number,
        gpu_minutes,
        gpu_minutes * mean_gpu_pct as total_pct,
        gpu_minutes * idle_gpu_pct as idle_total_pct,
        mean_cpu_pct,
        mean_memory_pct
    from philly.utilization_hourly
)

select
    date '1970-01-01' + cast(day_number as integer) as day,
    count(distinct machine_id) as machines,
    cast(sum(gpu_minutes) as bigint) as gpu_minutes,
    stats.fsum(total_pct) / nullif(sum(gpu_minutes), 0) as mean_gpu_pct,
    stats.fsum(idle_total_pct) / nullif(sum(gpu_minutes), 0) as idle_gpu_pct,
    stats.favg(mean_cpu_pct) as mean_cpu_pct,
    stats.favg(mean_memory_pct) as mean_memory_pct
from hours
group by day_number
order by day_number;

comment on macro table philly.utilization_by_day is 'Mean utilisation of all measured GPUs by minute and share of minutes without any, and mean utilisation of processors and memory over all machines, per day in UTC.';
