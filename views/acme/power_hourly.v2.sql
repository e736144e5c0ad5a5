-- Hourly mean power and energy of GPUs, over the time that samples cover (Acme).
-- grain: one row per (cluster, hour) in which a GPU was listed
-- source: README of AcmeTrace, Resource Utilization; POWER_USAGE of DCGM
-- answers: power
-- caveat: acme.telemetry_covers_part: hour covered_s energy_kwh
-- caveat: acme.telemetry_units_by_convention: mean_power_w energy_kwh
-- resolves_caveat: acme.job_zones_differ
-- materialize: parquet per partition
-- Differs from version 1 in the last digits only: its sums are exact, and so the same on every run.
create or replace view acme.power_hourly_v2 as
-- The samples of all GPUs last until the same next time, so their power can be added up first.
with sampled as (
    select
        cluster,
        time,
        count(node) as listed,
        count(value) filter (where node is not null) as samples,
        stats.fsum(case when node is not null then value end) as power_w
    from acme.gpu_metric
    where metric = 'POWER_USAGE'
    group by cluster, time
),

-- A sample lasts at most five minutes: a server without a sample for longer may have been off.
held as (
    select
        cluster,
        epoch_us(time) // 3600000000 as hour_number,
        listed,
        samples,
        power_w,
        least(
            (
                epoch_us(coalesce(lead(time) over (partition by cluster order by time), time))
                - epoch_us(time)
            ) / 1000000.0,
            300
        ) as hold_s
    from sampled
),

hours as (
    select
        cluster,
        hour_number,
        sum(samples) as samples,
        stats.fsum(power_w) as power_w,
        stats.fsum(hold_s) as covered_s,
        stats.fsum(power_w * hold_s) as energy_j
    from held
    group by cluster, hour_number
    having sum(listed) > 0
),

gpu_hours as (
    select
        cluster,
        node,
        gpu,
        epoch_us(time) // 3600000000 as hour_number
    from acme.gpu_metric
    where metric = 'POWER_USAGE' and node is not null and value is not null
    group by cluster, node, gpu, hour_number
),

sampled_gpus as (
    select
        cluster,
        hour_number,
        count(*) as gpus
    from gpu_hours
    group by cluster, hour_number
)

select
    hours.cluster,
    to_timestamp(3600 * hours.hour_number) as hour,
    coalesce(sampled_gpus.gpus, 0) as gpus,
    cast(hours.samples as bigint) as samples,
    hours.power_w / nullif(hours.samples, 0) as mean_power_w,
    hours.covered_s,
    hours.energy_j / 3600000 as energy_kwh
from hours
left join sampled_gpus
    on hours.cluster = sampled_gpus.cluster and hours.hour_number = sampled_gpus.hour_number;
