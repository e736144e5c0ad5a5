-- Server power, and the share that neither processors nor memory draw (Acme, Seren).
-- grain: one row per (server_group, has_memory_power)
-- source: data/generate_utilization_pkl.ipynb of AcmeTrace; the rest is no column of the publisher
-- caveat: acme.ipmi_is_seren_only
create or replace view acme.server_power_share_v1 as
with samples as (
    select
        server_group,
        "Sys_Total_Power" as total_w,
        "CPU_Power" as cpu_w,
        coalesce("MEM_Power", "Memory_Power") as memory_w
    from acme.server_power
),

with_rest as (
    select
        server_group,
        memory_w is not null as has_memory_power,
        total_w,
        cpu_w,
        memory_w,
        -- NULL if the processors' power is NULL: the remainder would then include it.
        case
            when total_w > 0 then 100 * (total_w - cpu_w - coalesce(memory_w, 0)) / total_w
        end as rest_pct
    from samples
)

select
    server_group,
    has_memory_power,
    count(*) as samples,
    stats.favg(total_w) as mean_total_w,
    median(total_w) as median_total_w,
    max(total_w) as max_total_w,
    stats.favg(cpu_w) as mean_cpu_w,
    stats.favg(memory_w) as mean_memory_w,
    stats.favg(rest_pct) as mean_rest_pct,
    median(rest_pct) as median_rest_pct
from with_rest
group by server_group, has_memory_power;

comment on column acme.server_power_share_v1.has_memory_power is 'Whether the samples have the memory''s power; if not, it is part of the rest; derived.';
comment on column acme.server_power_share_v1.samples is 'Samples of all servers; derived.';
comment on column acme.server_power_share_v1.mean_total_w is 'Mean power of a server; derived.';
comment on column acme.server_power_share_v1.median_total_w is 'Median power of a server, interpolated; derived.';
comment on column acme.server_power_share_v1.max_total_w is 'Largest power of a server; derived.';
comment on column acme.server_power_share_v1.mean_cpu_w is 'Mean power of a server''s processors; derived.';
comment on column acme.server_power_share_v1.mean_memory_w is 'Mean power of a server''s memory; NULL where it is not recorded; derived.';
comment on column acme.server_power_share_v1.mean_rest_pct is 'Mean share of the rest, which includes GPUs and fans: total less processors and memory, where the total is above 0; derived.';
comment on column acme.server_power_share_v1.median_rest_pct is 'Median share of the rest, interpolated; derived.';
