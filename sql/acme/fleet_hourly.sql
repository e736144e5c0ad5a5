-- Allocated GPUs, utilisation, power, errors per hour (Acme)
-- caveat: acme.capacity_from_paper
-- caveat: acme.no_nodes_on_jobs
-- caveat: acme.telemetry_covers_part
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: acme.dram_active_one_row
-- resolves_caveat: acme.kalos_host_cpu_over_100
-- column: hour: Start of the hour
-- column: held_gpus: GPUs that jobs hold, mean over the hour
-- column: held_gpus_pct: Held GPUs in percent of the published fleet
-- column: unended_jobs: GPU jobs that started in the hour without a later end
-- column: util_gpus_pct: GPUs with a sample of utilisation in percent of the published fleet
-- column: util_covered_pct: Share of the hour's minutes with a sample of utilisation
-- column: power_gpus_pct: GPUs with a sample of power in percent of the published fleet
-- column: power_covered_pct: Share of the hour's minutes with a sample of power
-- column: onsets [onsets]: Onsets: changes from no error to an error code
-- column: xid_covered_pct: Share of the hour's minutes with error codes recorded, none included
-- chart: line x=hour y=held_gpus partial=first,last title=Allocated GPUs per hour (Acme)
create or replace macro acme.fleet_hourly(on_cluster varchar := 'kalos') as table
with started as (
    select
        requested_gpus,
        epoch_us(start_time) / 1e6 as start_s,
        case when end_time > start_time and isfinite(end_time) then epoch_us(end_time) / 1e6 end as end_s,
        coalesce(end_time < start_time, true) as is_unended
    from acme.job
    where cluster = on_cluster and requested_gpus > 0 and isfinite(start_time)
),

held as (
    select
        to_timestamp(3600 * window_number) as hour,
        held_s / 3600.0 as held_gpus
    from stats.held_by_window('started', null, requested_gpus, start_s, end_s, 3600)
),

unended as (
    select
        to_timestamp(3600 * floor(start_s / 3600)) as hour,
        count(*) as unended_jobs
    from started
    where is_unended
    group by floor(start_s / 3600)
),

-- An empty cell is no sample of utilisation or power, and for error codes means that there was no error.
recorded_minutes as (
    select
        metric,
        epoch_us(time) // 3600000000 as hour_number,
        epoch_us(time) // 60000000 as minute_number
    from acme.telemetry_time
    where
        cluster = on_cluster
        and metric in ('GPU_UTIL', 'POWER_USAGE', 'XID_ERRORS')
        and (device_samples > 0 or (device_cells > 0 and metric = 'XID_ERRORS'))
    group by all
),

recorded as (
    select
        to_timestamp(3600 * hour_number) as hour,
        count(*) filter (where metric = 'GPU_UTIL') as util_minutes,
        count(*) filter (where metric = 'POWER_USAGE') as power_minutes,
        count(*) filter (where metric = 'XID_ERRORS') as xid_minutes
    from recorded_minutes
    group by hour_number
),

utilization as (
    select
        hour,
        devices,
        mean_pct
    from acme.utilization_hourly
    where cluster = on_cluster and metric = 'GPU_UTIL'
),

power as (
    select
        hour,
        gpus,
        mean_power_w
    from acme.power_hourly
    where cluster = on_cluster
),

errors as (
    select
        to_timestamp(3600 * (epoch_us(onset_time) // 3600000000)) as hour,
        count(*) as onsets
    from acme.xid_onset
    where cluster = on_cluster
    group by epoch_us(onset_time) // 3600000000
),

fleet as (
    select gpus
    from acme.cluster_capacity
    where cluster = on_cluster
),

-- Includes hours with only jobs and hours with only telemetry.
hours as (
    select hour from held
    union
    select hour from unended
    union
    select hour from recorded
)

select
    hours.hour,
    coalesce(held.held_gpus, 0) as held_gpus,
    100.0 * coalesce(held.held_gpus, 0) / fleet.gpus as held_gpus_pct,
    coalesce(unended.unended_jobs, 0) as unended_jobs,
    utilization.mean_pct as mean_gpu_util_pct,
    100.0 * coalesce(utilization.devices, 0) / fleet.gpus as util_gpus_pct,
    100.0 * coalesce(recorded.util_minutes, 0) / 60 as util_covered_pct,
    power.mean_power_w,
    100.0 * coalesce(power.gpus, 0) / fleet.gpus as power_gpus_pct,
    100.0 * coalesce(recorded.power_minutes, 0) / 60 as power_covered_pct,
    case when recorded.xid_minutes > 0 then coalesce(errors.onsets, 0) end as onsets,
    100.0 * coalesce(recorded.xid_minutes, 0) / 60 as xid_covered_pct
from hours
cross join fleet
left join held on hours.hour = held.hour
left join unended on hours.hour = unended.hour
left join recorded on hours.hour = recorded.hour
left join utilization on hours.hour = utilization.hour
left join power on hours.hour = power.hour
left join errors on hours.hour = errors.hour
order by hours.hour;

comment on macro table acme.fleet_hourly is
'One row per hour in which a GPU job of the cluster ran, a GPU job without an end started, GPU_UTIL or '
'POWER_USAGE of a GPU was sampled, or its XID_ERRORS were recorded. hour is the start of the hour, on the '
'full hour in UTC. held_gpus is the mean over the hour of the GPUs that jobs hold from start_time to '
'end_time; held_gpus_pct is the same in percent of the published fleet (2,288 GPUs of Seren, 2,416 of '
'Kalos). unended_jobs are GPU jobs that started in the hour and have no end, or an end before their '
'start; held_gpus leaves them out. mean_gpu_util_pct and mean_power_w are means over all samples of '
'GPU_UTIL and POWER_USAGE of all sampled GPUs, whether or not a job holds them; NULL without samples. '
'onsets counts errors that started, as in acme.xid_onset; NULL where no error codes were recorded in the '
'hour. util_gpus_pct and power_gpus_pct are the GPUs with a sample in percent of the fleet. '
'util_covered_pct, power_covered_pct and xid_covered_pct are the share of the 60 minutes of the hour in '
'which a GPU was sampled; for error codes an empty cell counts too, because it means that there was no '
'error. Jobs and telemetry are joined by hour only: no row describes the GPUs of a particular job.';
