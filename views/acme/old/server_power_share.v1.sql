-- Server power, and the share that neither processors nor memory draw (Acme, Seren).
-- grain: one row per (server_group, has_memory_power)
-- source: data/generate_utilization_pkl.ipynb of AcmeTrace; the rest is no column of the publisher
-- caveat: acme.ipmi_is_seren_only
-- Version 2 gives the same rows.
create or replace view acme.server_power_share_v1 as
select
    server_group,
    has_memory_power,
    samples,
    mean_total_w,
    median_total_w,
    max_total_w,
    mean_cpu_w,
    mean_memory_w,
    mean_rest_pct,
    median_rest_pct
from acme.server_power_share_v2;

comment on column acme.server_power_share_v1.has_memory_power is 'Whether the samples have the memory''s power; if not, it is part of the rest; derived.';
comment on column acme.server_power_share_v1.samples is 'Samples of all servers; derived.';
comment on column acme.server_power_share_v1.mean_total_w is 'Mean power of a server; derived.';
comment on column acme.server_power_share_v1.median_total_w is 'Median power of a server, interpolated; derived.';
comment on column acme.server_power_share_v1.max_total_w is 'Largest power of a server; derived.';
comment on column acme.server_power_share_v1.mean_cpu_w is 'Mean power of a server''s processors; derived.';
comment on column acme.server_power_share_v1.mean_memory_w is 'Mean power of a server''s memory; NULL where it is not recorded; derived.';
comment on column acme.server_power_share_v1.mean_rest_pct is 'Mean share of the rest, which includes GPUs and fans: total less processors and memory, where the total is above 0; derived.';
comment on column acme.server_power_share_v1.median_rest_pct is 'Median share of the rest, interpolated; derived.';
