-- GPU memory in use, per sample and GPU (Acme).
-- grain: one row per (cluster, node, gpu, time) that has a sample
-- source: data/generate_utilization_pkl.ipynb of AcmeTrace: FB_USED over 80 * 1024
-- answers: memory use
-- caveat: acme.telemetry_covers_part: time
-- caveat: acme.telemetry_units_by_convention: used_mib used_pct
create or replace view acme.gpu_memory_used_v1 as
select
    cluster,
    node,
    gpu,
    time,
    value as used_mib,
    100 * value / (80 * 1024) as used_pct
from acme.gpu_metric
where metric = 'FB_USED' and node is not null and value is not null;

comment on column acme.gpu_memory_used_v1.used_mib is 'Memory in use, FB_USED of DCGM [MiB]; measured.';
comment on column acme.gpu_memory_used_v1.used_pct is 'Memory in use, in percent of an A100''s 80 GiB, as the authors compute it; derived.';
