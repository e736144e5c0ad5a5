-- Hourly mean power and energy of GPUs, over the time that samples cover (Acme).
-- grain: one row per (cluster, hour) in which a GPU was listed
-- source: README of AcmeTrace, Resource Utilization; POWER_USAGE of DCGM
-- caveat: acme.device_names_vary
create or replace view acme.power_hourly_v1 as
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
        stats.fsum(samples) as samples,
        stats.fsum(power_w) as power_w,
        stats.fsum(hold_s) as covered_s,
        stats.fsum(power_w * hold_s) as energy_j
    from held
    group by cluster, hour_number
    having stats.fsum(listed) > 0
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

comment on column acme.power_hourly_v1.hour is 'Start of the hour; derived.';
comment on column acme.power_hourly_v1.gpus is 'GPUs with a sample in the hour; derived.';
comment on column acme.power_hourly_v1.samples is 'Samples in the hour, of all GPUs; derived.';
comment on column acme.power_hourly_v1.mean_power_w is 'Mean of the samples; NULL where there is none; derived.';
comment on column acme.power_hourly_v1.covered_s is 'Seconds that the hour''s sampling times cover: each lasts until the cluster''s next one, at most 300 s; derived.';
comment on column acme.power_hourly_v1.energy_kwh is 'Energy of all GPUs: each sample times the seconds that it lasts; NULL where there is none; derived.';
