-- Hourly utilisation of GPUs, GPU memory and node processors (Acme).
-- grain: one row per (cluster, metric, hour) in which a GPU or node was listed
-- source: README of AcmeTrace, Resource Utilization; data/generate_utilization_pkl.ipynb for the units
-- caveat: acme.telemetry_units_by_convention: devices samples empty_samples mean_pct max_pct zero_pct
-- caveat: acme.device_names_vary
-- caveat: acme.dram_active_one_row
-- caveat: acme.kalos_host_cpu_over_100: devices samples empty_samples mean_pct max_pct zero_pct
-- caveat: acme.node_memory_bad_columns
-- Version 2 gives the same rows.
create or replace view acme.utilization_hourly_v1 as
select
    cluster,
    metric,
    hour,
    devices,
    samples,
    empty_samples,
    mean_pct,
    max_pct,
    zero_pct
from acme.utilization_hourly_v2;

comment on column acme.utilization_hourly_v1.cluster is 'Cluster: seren or kalos; measured.';
comment on column acme.utilization_hourly_v1.metric is 'Metric of utilisation, of GPUs or, where it begins with NODE, of nodes; measured.';
comment on column acme.utilization_hourly_v1.hour is 'Start of the hour; derived.';
comment on column acme.utilization_hourly_v1.devices is 'GPUs or nodes with a sample in the hour; derived.';
comment on column acme.utilization_hourly_v1.samples is 'Samples in the hour, of all GPUs or nodes; derived.';
comment on column acme.utilization_hourly_v1.empty_samples is 'Cells of the publisher''s table that hold no sample, in the hour; derived.';
comment on column acme.utilization_hourly_v1.mean_pct is 'Mean of the samples; NULL where there is none; derived.';
comment on column acme.utilization_hourly_v1.max_pct is 'Largest sample; above 100 in Kalos''s processors; derived.';
comment on column acme.utilization_hourly_v1.zero_pct is 'Share of the samples that are 0; derived.';
