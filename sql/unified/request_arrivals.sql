-- Request arrivals over time (requests of all traces)
-- resolves_caveat: azure_llm.no_end_of_a_request
-- resolves_caveat: burstgpt.failed_requests
-- resolves_caveat: genai.request_clock_is_shifted
-- resolves_caveat: mooncake.arrivals_on_a_grid
-- chart: line x=window_start_s y=requests_per_s facet=trace+workload partial=first,last
-- column: window_start_s: Start of the window, counted from that of the first arrival of the workload
-- column: window_length_s: Length of the window
-- column: requests: Requests that arrive in the window
-- column: requests_per_s [requests per s]: Requests that arrive in a second
-- column: input_tokens: Tokens of the prompts that arrive in the window
-- column: output_tokens: Tokens of the answers to the requests that arrive in the window
create or replace macro unified.request_arrivals(
    -- [list of unified.requests.trace]
    in_trace varchar := null,
    window_s double := null
) as table
with spans as (
    select
        trace,
        workload,
        min(arrival_s) as first_arrival_s,
        max(arrival_s) as last_arrival_s
    from unified.requests
    where arrival_s is not null and stats.is_chosen(trace, in_trace)
    group by trace, workload
),

workloads as (
    select
        trace,
        workload,
        min(first_arrival_s) over (partition by trace) as trace_start_s,
        coalesce(window_s, stats.readable_window_s(last_arrival_s - first_arrival_s)) as window_length_s
    from spans
),

requests as (
    select
        requests.trace,
        requests.workload,
        requests.input_tokens,
        requests.output_tokens,
        workloads.window_length_s,
        cast(
            floor((requests.arrival_s - workloads.trace_start_s) / workloads.window_length_s) as bigint
        ) as window_number
    from unified.requests as requests
    inner join workloads
        on requests.trace = workloads.trace and requests.workload is not distinct from workloads.workload
    where requests.arrival_s is not null
),

-- Adds a row without a request for each window, with the tokens 0 or, if the workload has none, NULL.
windows as (
    select
        trace,
        workload,
        window_length_s,
        case when count(input_tokens) > 0 then 0 end as input_tokens,
        case when count(output_tokens) > 0 then 0 end as output_tokens,
        unnest(generate_series(min(window_number), max(window_number))) as window_number
    from requests
    group by trace, workload, window_length_s
),

counted as (
    select
        trace,
        workload,
        window_length_s,
        window_number,
        1 as requests,
        input_tokens,
        output_tokens
    from requests
    union all
    select
        trace,
        workload,
        window_length_s,
        window_number,
        0 as requests,
        input_tokens,
        output_tokens
    from windows
),

summed as (
    select
        trace,
        workload,
        window_length_s,
        window_number,
        cast(sum(requests) as bigint) as requests,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens
    from counted
    group by trace, workload, window_length_s, window_number
)

select
    trace,
    workload,
    window_length_s * (window_number - min(window_number) over (partition by trace, workload))
        as window_start_s,
    window_length_s,
    requests,
    requests / window_length_s as requests_per_s,
    input_tokens,
    output_tokens
from summed
order by trace, workload nulls last, window_start_s;

comment on macro table unified.request_arrivals is
'All requests with an arrival, per trace, workload and window of window_length_s seconds. Windows follow each '
'other from the first arrival in the trace, whatever its workload. The first row of a workload is the window of its '
'first arrival, and the last row that of its last, which the trace may cover only in part; windows without a '
'request are included. input_tokens and output_tokens are sums over the requests that arrive in the window; '
'NULL if the trace records no tokens of the workload.';
