-- Accesses to prefix blocks by requests of all traces, each with the previous access to the same block.
-- grain: one row per (trace, workload, position)
-- source: READMEs of Mooncake and Qwen-Bailian: an equal number is the same prefix, whose KV cache can be reused
-- resolves_caveat: azure_llm.sample_of_an_hour
-- resolves_caveat: burstgpt.ramp_up
-- resolves_caveat: genai.request_clock_is_shifted
-- resolves_caveat: mooncake.arrivals_on_a_grid: position previous_position
create or replace view unified.prefix_accesses_v1 as
with accesses as (
    select
        trace,
        workload,
        arrival_s,
        request_number,
        prefix_blocks,
        unnest(generate_series(1, array_length(prefix_blocks))) as place
    from unified.requests_v2
    where arrival_s is not null and prefix_blocks is not null
),

ordered as (
    select
        trace,
        workload,
        arrival_s,
        list_extract(prefix_blocks, place) as block,
        row_number() over (partition by trace, workload order by arrival_s, request_number, place) as position
    from accesses
)

select
    trace,
    workload,
    position,
    arrival_s,
    block,
    lag(position) over (partition by trace, workload, block order by position) as previous_position,
    arrival_s - lag(arrival_s) over (partition by trace, workload, block order by position) as age_s
from ordered;

comment on column unified.prefix_accesses_v1.position is 'Position among the accesses of the workload, from 1, in the order of arrival [no unit]; derived.';
comment on column unified.prefix_accesses_v1.block is 'Prefix block [no unit]; derived.';
comment on column unified.prefix_accesses_v1.previous_position is 'Position of the previous access to the block; NULL for the first [no unit]; derived.';
comment on column unified.prefix_accesses_v1.age_s is 'Seconds since the previous access to the block; NULL for the first; derived.';
