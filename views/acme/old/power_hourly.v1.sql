-- Hourly mean power and energy of GPUs, over the time that samples cover (Acme).
-- grain: one row per (cluster, hour) in which a GPU was listed
-- source: README of AcmeTrace, Resource Utilization; POWER_USAGE of DCGM
-- caveat: acme.device_names_vary
-- Version 2 gives the same rows.
create or replace view acme.power_hourly_v1 as
select
    cluster,
    hour,
    gpus,
    samples,
    mean_power_w,
    covered_s,
    energy_kwh
from acme.power_hourly_v2;

comment on column acme.power_hourly_v1.hour is 'Start of the hour; derived.';
comment on column acme.power_hourly_v1.gpus is 'GPUs with a sample in the hour; derived.';
comment on column acme.power_hourly_v1.samples is 'Samples in the hour, of all GPUs; derived.';
comment on column acme.power_hourly_v1.mean_power_w is 'Mean of the samples; NULL where there is none; derived.';
comment on column acme.power_hourly_v1.covered_s is 'Seconds that the hour''s sampling times cover: each lasts until the cluster''s next one, at most 300 s; derived.';
comment on column acme.power_hourly_v1.energy_kwh is 'Energy of all GPUs: each sample times the seconds that it lasts; NULL where there is none; derived.';
