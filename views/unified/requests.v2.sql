-- Requests to LLM and other inference services, of all traces, in one format; NULL if not recorded.
-- grain: one row per request
-- source: each publisher's README
-- resolves_caveat: azure_llm.sample_of_an_hour: workload
-- resolves_caveat: burstgpt.ramp_up: workload
-- resolves_caveat: genai.request_clock_is_shifted: local_arrival_s workload
-- resolves_caveat: genai.requests_in_both_files
-- resolves_caveat: genai.requests_name_no_container
-- resolves_caveat: mooncake.arrivals_on_a_grid: workload
-- resolves_caveat: mooncake.generated_arrivals: workload
-- resolves_caveat: mooncake.sample_of_an_hour: workload
create or replace view unified.requests_v2 as
select
    trace,
    -- No part of BurstGPT covers days 121 to 225: each period is a workload of its own.
    case
        when trace <> 'burstgpt' then workload
        when arrival_s > 180 * 86400 then workload || ', days 225 to 335'
        else workload || ', days 0 to 121'
    end as workload,
    model,
    session_id,
    request_number,
    arrival_s,
    local_arrival_s,
    input_tokens,
    output_tokens,
    latency_s,
    status,
    prefix_blocks,
    block_tokens
from each_trace.request_v1;

comment on column unified.requests_v2.trace is 'Trace that the request is from; measured.';
comment on column unified.requests_v2.workload is 'The publisher''s name for a service or a kind of request, of BurstGPT with the days that are covered without a gap; NULL for GenAI, which has one; measured.';
comment on column unified.requests_v2.model is 'Model that answers; NULL where the trace names none; measured.';
comment on column unified.requests_v2.session_id is 'Conversation that the request belongs to; NULL where the trace names none; measured.';
comment on column unified.requests_v2.request_number is 'Position of the request in its file, from 1: the order of requests that arrive at the same time; NULL for GenAI [no unit]; derived.';
comment on column unified.requests_v2.arrival_s is 'Arrival in seconds on the trace''s own clock, see catalog.clocks; derived.';
comment on column unified.requests_v2.local_arrival_s is 'Arrival in seconds whose hour and weekday are local to the service; NULL if the trace''s clock does not give them; derived.';
comment on column unified.requests_v2.input_tokens is 'Tokens of the prompt; NULL for GenAI, which generates images; measured.';
comment on column unified.requests_v2.output_tokens is 'Tokens of the answer; NULL for GenAI, which generates images; measured.';
comment on column unified.requests_v2.latency_s is 'BurstGPT: seconds from the request to its complete answer. GenAI: execution time. NULL elsewhere; measured.';
comment on column unified.requests_v2.status is 'completed, failed or unknown; derived.';
comment on column unified.requests_v2.prefix_blocks is 'Prefix blocks of the prompt, in order: an equal number is the same text up to the end of the block; NULL where the trace publishes none [no unit]; measured.';
comment on column unified.requests_v2.block_tokens is 'Tokens of a prefix block; derived.';
