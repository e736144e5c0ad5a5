-- Requests and tokens by workload (requests of all traces)
-- resolves_caveat: burstgpt.ramp_up
-- resolves_caveat: genai.request_clock_is_shifted
-- resolves_caveat: mooncake.arrivals_on_a_grid
-- resolves_caveat: mooncake.generated_arrivals
-- resolves_caveat: mooncake.published_hit_rates
-- resolves_caveat: qwen.blocks_of_content
-- resolves_caveat: qwen.reuse_begins_at_0
-- column: span_s: Time from the first arrival to the last
-- column: mean_input_tokens: Mean tokens of a prompt
-- column: mean_output_tokens: Mean tokens of an answer
-- column: failed_pct: Share of the requests of known outcome that failed
-- column: with_prefix_pct: Share of the requests whose prefix blocks the trace publishes
-- chart: point x=mean_input_tokens:log y=mean_output_tokens:log color=workload yname=mean_output_tokens xname=mean_input_tokens title=Mean input and output tokens by workload (requests of all traces)
create or replace macro unified.request_summary(
    -- [list of unified.requests.trace]
    in_trace varchar := null
) as table
select
    trace,
    workload,
    count(*) as requests,
    max(arrival_s) - min(arrival_s) as span_s,
    stats.favg(input_tokens) as mean_input_tokens,
    stats.favg(output_tokens) as mean_output_tokens,
    100.0 * count(*) filter (where status = 'failed')
    / nullif(count(*) filter (where status in ('completed', 'failed')), 0) as failed_pct,
    100.0 * count(prefix_blocks) / count(*) as with_prefix_pct
from unified.requests
where arrival_s is not null and stats.is_chosen(trace, in_trace)
group by trace, workload
order by trace, workload nulls last;

comment on macro table unified.request_summary is
'All requests with an arrival, per trace and workload. span_s is the time from the first arrival to the '
'last. mean_input_tokens and mean_output_tokens are means over the requests for which the trace records the '
'number, failed ones included; NULL for GenAI, which generates images. failed_pct is the percentage of the '
'requests of known outcome that failed; NULL if the trace records no outcome. with_prefix_pct is the '
'percentage of requests whose prefix blocks the trace publishes.';
