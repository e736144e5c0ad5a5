-- Request arrivals over time (requests of all traces)
-- chart: line x=window_start_s y=requests_per_s color=workload facet=trace
-- column: requests: Requests that arrive in the window
-- column: input_tokens: Tokens of the prompts that arrive in the window
-- column: output_tokens: Tokens of the answers to the requests that arrive in the window
create or replace macro unified.request_arrivals(
    -- trace to report on; NULL is every loaded trace [unified.requests.trace]
    in_trace varchar := null,
    window_s double := 60
) as table
with requests as (
    select
        trace,
        workload,
        input_tokens,
        output_tokens,
        cast(
            floor((arrival_s - min(arrival_s) over (partition by trace)) / nullif(window_s, 0)) as bigint
        ) as window_number
    from unified.requests
    where arrival_s is not null and (in_trace is null or trace = in_trace)
),

counted as (
    select
        trace,
        workload,
        window_number,
        count(*) as requests,
        cast(sum(input_tokens) as bigint) as input_tokens,
        cast(sum(output_tokens) as bigint) as output_tokens
    from requests
    group by trace, workload, window_number
),

-- Where no request has tokens, their sum is not 0 but unknown.
bounds as (
    select
        trace,
        workload,
        min(window_number) as first_window,
        max(window_number) as last_window,
        case when count(input_tokens) > 0 then 0 end as no_input_tokens,
        case when count(output_tokens) > 0 then 0 end as no_output_tokens
    from counted
    group by trace, workload
),

windows as (
    select
        trace,
        workload,
        first_window,
        no_input_tokens,
        no_output_tokens,
        unnest(generate_series(first_window, last_window)) as window_number
    from bounds
)

select
    windows.trace,
    windows.workload,
    (windows.window_number - windows.first_window) * window_s as window_start_s,
    coalesce(counted.requests, 0) as requests,
    coalesce(counted.requests, 0) / nullif(window_s, 0) as requests_per_s,
    coalesce(counted.input_tokens, windows.no_input_tokens) as input_tokens,
    coalesce(counted.output_tokens, windows.no_output_tokens) as output_tokens
from windows
left join counted
    on
        windows.trace = counted.trace
        and windows.workload is not distinct from counted.workload
        and windows.window_number = counted.window_number
order by windows.trace, windows.workload nulls last, windows.window_number;

comment on macro table unified.request_arrivals is
'All requests with an arrival, per trace, workload and window of window_s seconds. Windows follow each other '
'from the first arrival in the trace, whatever its workload. The first row of a workload is the window of its '
'first arrival, and the last row that of its last, which the trace may cover only in part; windows without a '
'request are included. input_tokens and output_tokens are sums over the requests that arrive in the window; '
'NULL if the trace records no tokens of the workload.';
