-- GPU and memory use of containers, per minute (GenAI).
-- grain: one row per (container_id, time_s) in which any of them was measured
-- source: README of cluster-trace-v2026-GenAI, 4; the scale of the clock: ingest/traces/genai.py
-- answers: GPU utilisation, memory use
-- caveat: genai.clock_is_scaled: time_s hour_of_day
-- resolves_caveat: genai.rows_without_container
create or replace view genai.container_minute_v1 as
with cells as (
    select
        'gpu' as metric,
        timestamp_anon,
        container_ip,
        value
    from genai.pod_gpu_duty_cycle
    union all
    select
        'gpu_memory' as metric,
        timestamp_anon,
        container_ip,
        value
    from genai.pod_gpu_memory_used_bytes
    union all
    select
        'memory' as metric,
        timestamp_anon,
        container_ip,
        value
    from genai.pod_memory_util
),

-- One container has two rows for one minute.
minutes as (
    select
        container_ip,
        timestamp_anon,
        max(value) filter (where metric = 'gpu') as gpu_pct,
        max(value) filter (where metric = 'gpu_memory') as gpu_memory_bytes,
        max(value) filter (where metric = 'memory') as memory_share
    from cells
    where container_ip is not null
    group by container_ip, timestamp_anon
)

select
    minutes.container_ip as container_id,
    cast(round(minutes.timestamp_anon * clock.scale) as bigint) as time_s,
    cast(
        floor((round(minutes.timestamp_anon * clock.scale) + clock.local_offset_s) / 3600) as bigint
    ) % 24 as hour_of_day,
    minutes.gpu_pct,
    minutes.gpu_memory_bytes / 1073741824 as gpu_memory_gib,
    100 * case when minutes.memory_share < 0 then 0 else minutes.memory_share end as memory_pct
from minutes
cross join catalog.clocks as clock
where clock.clock = 'genai.telemetry';

comment on column genai.container_minute_v1.container_id is 'Container: hash of its address; measured.';
comment on column genai.container_minute_v1.time_s is 'Start of the minute, seconds since 1970 in UTC, with the scale removed; derived.';
comment on column genai.container_minute_v1.hour_of_day is 'Hour of the day where the cluster is [no unit]; derived.';
comment on column genai.container_minute_v1.gpu_pct is 'GPU utilisation; NULL if not measured; measured.';
comment on column genai.container_minute_v1.gpu_memory_gib is 'GPU memory in use; NULL if not measured; derived.';
comment on column genai.container_minute_v1.memory_pct is 'Memory in use; never below 0; NULL if not measured; derived.';
