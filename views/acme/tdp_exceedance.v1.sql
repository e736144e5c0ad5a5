-- Samples of GPU power above 400 W, the design power of an A100 (Acme).
-- grain: one row per cluster
-- source: Characterization of Large Language Model Development in the Datacenter (NSDI 2024): samples above 400 W
-- caveat: acme.power_claim_not_reproduced
-- caveat: acme.telemetry_units_by_convention: over_tdp_samples over_tdp_pct max_power_w
-- materialize: parquet per partition
create or replace view acme.tdp_exceedance_v1 as
select
    cluster,
    count(*) as samples,
    count(*) filter (where value > 400) as over_tdp_samples,
    100.0 * count(*) filter (where value > 400) / count(*) as over_tdp_pct,
    max(value) as max_power_w
from acme.gpu_metric
where metric = 'POWER_USAGE' and node is not null and value is not null
group by cluster;

comment on column acme.tdp_exceedance_v1.samples is 'Samples of all GPUs; derived.';
comment on column acme.tdp_exceedance_v1.over_tdp_samples is 'Samples above 400 W; derived.';
comment on column acme.tdp_exceedance_v1.over_tdp_pct is 'Share of the samples above 400 W; derived.';
comment on column acme.tdp_exceedance_v1.max_power_w is 'Largest sample [W]; derived.';
