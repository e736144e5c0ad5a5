-- Requests by input/output tokens (LLM requests of all traces)
-- resolves_caveat: burstgpt.failed_requests
-- chart: heat x=input_band_tokens y=output_band_tokens color=requests_pct facet=trace+workload xname=input_tokens yname=output_tokens note=A band goes from a power of two, its label, to below the next; white: no requests.
-- column: input_band_tokens: Least tokens of a prompt in the band, which ends below the next power of two
-- column: output_band_tokens: Least tokens of an answer in the band, which ends below the next power of two
-- column: requests: Requests whose tokens lie in both bands
-- column: requests_pct: Share of the counted requests of the workload
create or replace macro unified.requests_by_tokens(
    -- [list of unified.requests.trace]
    in_trace varchar := null
) as table
with banded as (
    select
        trace,
        workload,
        stats.power_of_two_band(input_tokens) as input_band_tokens,
        stats.power_of_two_band(output_tokens) as output_band_tokens
    from unified.requests
    where
        stats.is_chosen(trace, in_trace)
        and status <> 'failed'
        and input_tokens is not null
        and output_tokens is not null
)

select
    trace,
    workload,
    input_band_tokens,
    output_band_tokens,
    count(*) as requests,
    100.0 * count(*) / sum(count(*)) over (partition by trace, workload) as requests_pct
from banded
group by trace, workload, input_band_tokens, output_band_tokens
order by trace, workload nulls last, input_band_tokens, output_band_tokens;

comment on macro table unified.requests_by_tokens is
'Requests per trace, workload and band of input and output tokens. A band is 0 or goes from a power of two to '
'below the next: 512 is 512 to 1,023 tokens. Counted are requests with both numbers that did '
'not fail; a trace that records no outcome may contain failed ones. requests_pct is their percentage of the '
'counted requests of the workload. Bands without a request have no row, and a trace that records no tokens, '
'such as GenAI, has none.';
