-- Requests to LLM and other inference services, of all traces, in one format; NULL if not recorded.
-- grain: one row per request
-- source: each publisher's README
-- resolves_caveat: genai.request_clock_is_shifted: local_arrival_s
-- resolves_caveat: genai.requests_in_both_files
-- resolves_caveat: genai.requests_name_no_container
create or replace view unified.requests_v1 as
select
    trace,
    workload,
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

comment on column unified.requests_v1.trace is 'Trace that the request is from; measured.';
comment on column unified.requests_v1.workload is 'The publisher''s name for a service or a kind of request; NULL for GenAI, which has one; measured.';
comment on column unified.requests_v1.model is 'Model that answers; NULL where the trace names none; measured.';
comment on column unified.requests_v1.session_id is 'Conversation that the request belongs to; NULL where the trace names none; measured.';
comment on column unified.requests_v1.request_number is 'Position of the request in its file, from 1: the order of requests that arrive at the same time; NULL for GenAI [no unit]; derived.';
comment on column unified.requests_v1.arrival_s is 'Arrival in seconds on the trace''s own clock, see catalog.clocks; derived.';
comment on column unified.requests_v1.local_arrival_s is 'Arrival in seconds whose hour and weekday are local to the service; NULL if the trace''s clock does not give them; derived.';
comment on column unified.requests_v1.input_tokens is 'Tokens of the prompt; NULL for GenAI, which generates images; measured.';
comment on column unified.requests_v1.output_tokens is 'Tokens of the answer; NULL for GenAI, which generates images; measured.';
comment on column unified.requests_v1.latency_s is 'BurstGPT: seconds from the request to its complete answer. GenAI: execution time. NULL elsewhere; measured.';
comment on column unified.requests_v1.status is 'completed, failed or unknown; derived.';
comment on column unified.requests_v1.prefix_blocks is 'Prefix blocks of the prompt, in order: an equal number is the same text up to the end of the block; NULL where the trace publishes none [no unit]; measured.';
comment on column unified.requests_v1.block_tokens is 'Tokens of a prefix block; derived.';
