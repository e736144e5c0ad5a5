-- Latency of the serving stages per minute, on a clock in real seconds (GenAI).
-- grain: one row per (stage, container_id, time_s)
-- source: README of cluster-trace-v2026-GenAI, 2.2, 3 and 5; the scale of the clock: ingest/traces/genai.py
-- caveat: genai.cells_are_means: latency_ms
-- caveat: genai.clock_is_scaled: time_s hour_of_day
-- caveat: genai.inference_longer_than_end_to_end: latency_ms
-- caveat: genai.part_longer_than_pipeline: latency_ms
create or replace view genai.stage_latency_v1 as
with cells as (
    select
        'queue' as stage,
        timestamp_anon,
        container_ip,
        value
    from genai.queue_rt
    union all
    select
        'pipeline_update' as stage,
        timestamp_anon,
        container_ip,
        value
    from genai.pipeline_update_latency
    union all
    select
        'base_model' as stage,
        timestamp_anon,
        container_ip,
        value
    from genai.basemodel_update_latency
    union all
    select
        'lora' as stage,
        timestamp_anon,
        container_ip,
        value
    from genai.lora_update_latency
    union all
    select
        'controlnet' as stage,
        timestamp_anon,
        container_ip,
        value
    from genai.controlnet_latency
    union all
    select
        'inference' as stage,
        timestamp_anon,
        container_ip,
        value
    from genai.model_predict
    union all
    select
        'end_to_end' as stage,
        timestamp_anon,
        container_ip,
        value
    from genai.pipeline_inference
)

select
    cells.stage,
    cells.container_ip as container_id,
    cast(round(cells.timestamp_anon * clock.scale) as bigint) as time_s,
    cast(
        floor((round(cells.timestamp_anon * clock.scale) + clock.local_offset_s) / 3600) as bigint
    ) % 24 as hour_of_day,
    cells.value as latency_ms
from cells
cross join catalog.clocks as clock
where clock.clock = 'genai.telemetry';

comment on column genai.stage_latency_v1.stage is 'Stage: queue, pipeline_update, base_model, lora, controlnet, inference or end_to_end; derived.';
comment on column genai.stage_latency_v1.container_id is 'Container: hash of its address; measured.';
comment on column genai.stage_latency_v1.time_s is 'Start of the minute, seconds since 1970 in UTC, with the scale removed; derived.';
comment on column genai.stage_latency_v1.hour_of_day is 'Hour of the day where the cluster is [no unit]; derived.';
comment on column genai.stage_latency_v1.latency_ms is 'Latency in that minute; measured.';
