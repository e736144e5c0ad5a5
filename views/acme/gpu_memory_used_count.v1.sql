-- Number of samples by GPU memory in use (Acme).
-- grain: one row per (cluster, used_mib)
-- source: data/generate_utilization_pkl.ipynb of AcmeTrace: FB_USED over 80 * 1024
-- caveat: acme.telemetry_units_by_convention: used_mib used_pct
-- materialize: parquet per partition
create or replace view acme.gpu_memory_used_count_v1 as
with counted as (
    select
        cluster,
        value as used_mib,
        count(*) as samples
    from acme.gpu_metric
    where metric = 'FB_USED' and node is not null and value is not null
    group by cluster, value
)

select
    cluster,
    used_mib,
    100 * used_mib / (80 * 1024) as used_pct,
    samples
from counted;

comment on column acme.gpu_memory_used_count_v1.used_mib is 'Memory in use, by FB_USED of DCGM [MiB]; measured.';
comment on column acme.gpu_memory_used_count_v1.used_pct is 'Memory in use, in percent of an A100''s 80 GiB; derived.';
comment on column acme.gpu_memory_used_count_v1.samples is 'Samples with that value; derived.';
