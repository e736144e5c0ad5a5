-- Burstiness of arrivals by workload (requests of all traces)
-- resolves_caveat: genai.request_clock_is_shifted
-- chart: point x=trace+workload y=dispersion:log color=trace xname=workload yname=variance_over_mean_of_requests_per_window note=1 is that of a Poisson process; higher is burstier.
-- column: span_s: Time from the first arrival to the last
-- column: mean_gap_s: Mean gap between consecutive arrivals
-- column: gap_cv [ratio]: Standard deviation of the gaps between consecutive arrivals over their mean
-- column: windows [windows]: Complete windows between the first and the last request of the workload
-- column: dispersion [ratio]: Variance of the requests per complete window over their mean
-- column: idle_windows [windows]: Windows without a request
-- column: busiest_window_requests: Requests in the busiest window
create or replace macro unified.request_burstiness(
    -- [list of unified.requests.trace]
    in_trace varchar := null,
    -- length of a window in seconds
    window_s double := 60
) as table
with requests as (
    select
        trace,
        workload,
        arrival_s
    from unified.requests
    where arrival_s is not null and stats.is_chosen(trace, in_trace)
),

spans as (
    select
        trace,
        workload,
        -- Numbers are faster to sort by than names.
        row_number() over (order by trace, workload) as workload_number,
        count(*) as requests,
        max(arrival_s) - min(arrival_s) as span_s,
        (max(arrival_s) - min(arrival_s)) / nullif(count(*) - 1, 0) as mean_gap_s,
        min(arrival_s) as first_s,
        max(arrival_s) as last_s,
        min(min(arrival_s)) over (partition by trace) as first_of_trace_s
    from requests
    group by trace, workload
),

arrivals as (
    select
        spans.workload_number,
        spans.mean_gap_s,
        requests.arrival_s,
        requests.arrival_s - spans.first_of_trace_s as since_s
    from requests
    inner join spans
        on requests.trace = spans.trace and requests.workload is not distinct from spans.workload
),

distances as (
    select
        workload_number,
        cast(floor(since_s / nullif(window_s, 0)) as bigint) as window_number,
        arrival_s - lag(arrival_s) over (partition by workload_number order by arrival_s)
        - mean_gap_s as distance_s
    from arrivals
),

gaps as (
    select
        workload_number,
        sqrt(stats.favg(distance_s * distance_s)) as deviation_s
    from distances
    group by workload_number
),

counted as (
    select
        workload_number,
        window_number,
        count(*) as requests
    from distances
    group by workload_number, window_number
),

-- The windows in which a workload begins and ends are covered in part only.
covered as (
    select
        workload_number,
        cast(ceil((first_s - first_of_trace_s) / nullif(window_s, 0)) as bigint) as first_window,
        cast(floor((last_s - first_of_trace_s) / nullif(window_s, 0)) as bigint) as end_window
    from spans
),

-- Windows without a request have no row, and add nothing to the squares.
windows as (
    select
        covered.workload_number,
        greatest(max(covered.end_window - covered.first_window), 0) as windows,
        count(counted.requests) as busy_windows,
        max(counted.requests) as busiest_window_requests,
        cast(sum(counted.requests) as double) as requests,
        cast(sum(counted.requests * counted.requests) as double) as requests_squared
    from covered
    left join counted
        on
            covered.workload_number = counted.workload_number
            and covered.first_window <= counted.window_number
            and covered.end_window > counted.window_number
    group by covered.workload_number
)

select
    spans.trace,
    spans.workload,
    spans.requests,
    spans.span_s,
    spans.mean_gap_s,
    gaps.deviation_s / nullif(spans.mean_gap_s, 0) as gap_cv,
    windows.windows,
    windows.requests_squared / windows.requests - windows.requests / windows.windows as dispersion,
    windows.windows - windows.busy_windows as idle_windows,
    windows.busiest_window_requests
from spans
inner join gaps on spans.workload_number = gaps.workload_number
inner join windows on spans.workload_number = windows.workload_number
order by spans.trace, spans.workload nulls last;

comment on macro table unified.request_burstiness is
'All requests with an arrival, per trace and workload. mean_gap_s is the mean time between two consecutive '
'arrivals, and gap_cv the standard deviation of these gaps over their mean: 1 for a Poisson process, larger '
'for bursts; NULL for a single request. Windows of window_s seconds follow each other from the first arrival '
'in the trace. Only complete windows count, those between the first and the last arrival of the workload. '
'dispersion is the variance of the requests per window over their mean, with the same reading as gap_cv; NULL '
'if no complete window has a request. idle_windows have no request. '
'Traces with longer spans contain the change of the load over the day, and so have larger values.';
