-- Estimated requests in flight (LLM requests of all traces)
-- resolves_caveat: burstgpt.failed_requests
-- resolves_caveat: mooncake.arrivals_on_a_grid
-- column: window_start_s: Start of the window, counted from that of the first arrival of the workload
-- column: window_length_s: Length of the window
-- column: requests_in_flight [requests]: Mean number of requests in service at a time
-- column: tokens_in_flight [tokens]: Mean number of tokens of the requests in service at a time
-- chart: line x=window_start_s y=requests_in_flight facet=trace+workload partial=first,last
create or replace macro unified.requests_in_flight(
    -- [list of unified.requests.trace]
    in_trace varchar := null,
    window_s double := null,
    -- assumed tokens of its prompt that a request processes in a second [0.001 to 1000000000]
    prefill_tokens_per_s double := 5000,
    -- assumed tokens of its answer that a request generates in a second [0.001 to 1000000000]
    decode_tokens_per_s double := 30
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
        workloads.window_length_s,
        requests.arrival_s - workloads.trace_start_s as start_s,
        requests.input_tokens,
        requests.output_tokens,
        case
            when requests.status <> 'failed' then requests.input_tokens + requests.output_tokens
        end as tokens
    from unified.requests as requests
    inner join workloads
        on requests.trace = workloads.trace and requests.workload is not distinct from workloads.workload
    where requests.arrival_s is not null
),

-- Requests that are not counted have no end.
sized as (
    select
        trace,
        workload,
        tokens,
        start_s,
        window_length_s,
        case
            when tokens is not null
                then
                    start_s
                    + input_tokens / nullif(prefill_tokens_per_s, 0)
                    + output_tokens / nullif(decode_tokens_per_s, 0)
        end as end_s
    from requests
),

windows as (
    select
        trace,
        workload,
        window_length_s,
        cast(floor(min(start_s) / window_length_s) as bigint) as first_window,
        unnest(
            generate_series(
                cast(floor(min(start_s) / window_length_s) as bigint),
                cast(floor(max(end_s) / window_length_s) as bigint)
            )
        ) as window_number
    from sized
    group by trace, workload, window_length_s
),

edges as (
    select
        trace,
        workload,
        window_length_s,
        start_s as at_s,
        1 as requests,
        tokens
    from sized
    where end_s is not null
    union all
    select
        trace,
        workload,
        window_length_s,
        end_s as at_s,
        -1 as requests,
        -tokens as tokens
    from sized
    where end_s is not null
),

numbered as (
    select
        trace,
        workload,
        window_length_s,
        requests,
        tokens,
        cast(floor(at_s / window_length_s) as bigint) as window_number,
        -- Seconds from the start of a window have more digits than those from the start of the trace.
        window_length_s - (at_s - floor(at_s / window_length_s) * window_length_s) as rest_s
    from edges
),

-- A change counts in its window for the rest of it, and in all later windows.
changes as (
    select
        trace,
        workload,
        window_number,
        sum(requests) as requests,
        sum(tokens) as tokens,
        stats.fsum(requests * rest_s / window_length_s) as requests_in_window,
        stats.fsum(tokens * rest_s / window_length_s) as tokens_in_window
    from numbered
    group by trace, workload, window_number
),

running as (
    select
        windows.*,
        changes.requests_in_window,
        changes.tokens_in_window,
        sum(changes.requests) over earlier as requests_before,
        sum(changes.tokens) over earlier as tokens_before
    from windows
    left join changes
        on
            windows.trace = changes.trace
            and windows.workload is not distinct from changes.workload
            and windows.window_number = changes.window_number
    window
        earlier as (
            partition by windows.trace, windows.workload
            order by windows.window_number
            rows between unbounded preceding and 1 preceding
        )
)

select
    trace,
    workload,
    (window_number - first_window) * window_length_s as window_start_s,
    window_length_s,
    cast(coalesce(requests_before, 0) as double) + coalesce(requests_in_window, 0) as requests_in_flight,
    cast(coalesce(tokens_before, 0) as double) + coalesce(tokens_in_window, 0) as tokens_in_flight
from running
order by trace, workload nulls last, window_number;

comment on macro table unified.requests_in_flight is
'Mean number of requests in flight per trace, workload and window of window_length_s seconds, if each '
'request were served from its arrival on, without queueing, at the assumed speeds of prefill_tokens_per_s for '
'its prompt and decode_tokens_per_s for its answer. The trace does not measure this: choose the speeds of the '
'service that you study. tokens_in_flight is the mean of their tokens; a request holds those of its prompt and '
'of its whole answer. Windows follow each other from the first arrival in the trace; a workload has rows from its '
'first arrival to the end of its last request. Failed requests and those without both numbers of tokens are '
'left out; a trace that records no tokens, such as GenAI, has no rows.';
