-- Token percentiles by workload (LLM requests of all traces)
-- resolves_caveat: burstgpt.failed_requests
-- chart: line x=input_tokens:log y=percentile color=workload facet=trace yname=requests_pct title=Distribution of input tokens (LLM requests of all traces)
-- column: percentile [percent]: Percentage of the requests that have at most this number of tokens
-- column: input_tokens: Percentile of the tokens of a prompt
-- column: output_tokens: Percentile of the tokens of an answer
-- column: requests: Requests that did not fail and have a number of tokens
create or replace macro unified.token_percentiles(
    -- [list of unified.requests.trace]
    in_trace varchar := null
) as table
with measured as (
    select
        trace,
        workload,
        count(*) as requests,
        quantile_cont(input_tokens, [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]) as input_tokens,
        quantile_cont(output_tokens, [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99]) as output_tokens
    from unified.requests
    where
        stats.is_chosen(trace, in_trace)
        and status <> 'failed'
        and coalesce(input_tokens, output_tokens) is not null
    group by trace, workload
),

places as (select unnest(generate_series(1, 9)) as place)

select
    measured.trace,
    measured.workload,
    list_extract([1, 5, 10, 25, 50, 75, 90, 95, 99], places.place) as percentile,
    list_extract(measured.input_tokens, places.place) as input_tokens,
    list_extract(measured.output_tokens, places.place) as output_tokens,
    measured.requests
from measured
cross join places
order by measured.trace, measured.workload nulls last, places.place;

comment on macro table unified.token_percentiles is
'Percentiles of the tokens of prompts and of answers, each over its own values, per trace and workload, with '
'linear interpolation between two values. requests are those with a number of tokens. Failed '
'requests are left out; a trace that records no outcome may contain some. A trace that records no tokens, '
'such as GenAI, has no rows.';
