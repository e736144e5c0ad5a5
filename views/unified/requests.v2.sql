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

comment on column unified.requests_v2.workload is 'The publisher''s name for a service or a kind of request, of BurstGPT with the days that are covered without a gap; NULL for GenAI, which has one; measured.';
