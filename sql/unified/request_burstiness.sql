-- Burstiness of arrivals by workload (requests of all traces)
-- chart: point x=trace+workload y=dispersion:log color=trace xname=workload yname=variance_over_mean_of_requests_per_window note=1 is that of a Poisson process; higher is burstier.
-- column: mean_gap_s: Mean gap between consecutive arrivals
-- column: dispersion: Variance of the requests per window over their mean
create or replace macro unified.request_burstiness(
    -- [unified.requests.trace]
    in_trace varchar := null,
    -- length of a window in seconds
    window_s double := 60
) as table
with requests as (
    select
        trace,
        workload,
        arrival_s,
        arrival_s - lag(arrival_s) over (partition by trace, workload order by arrival_s) as gap_s,
        cast(
            floor((arrival_s - min(arrival_s) over (partition by trace)) / nullif(window_s, 0)) as bigint
        ) as window_number
    from unified.requests
    where arrival_s is not null and (in_trace is null or trace = in_trace)
),

spans as (
    select
        trace,
        workload,
        count(*) as requests,
        max(arrival_s) - min(arrival_s) as span_s,
        (max(arrival_s) - min(arrival_s)) / nullif(count(*) - 1, 0) as mean_gap_s
    from requests
    group by trace, workload
),

gaps as (
    select
        requests.trace,
        requests.workload,
        sqrt(stats.favg((requests.gap_s - spans.mean_gap_s) * (requests.gap_s - spans.mean_gap_s)))
            as deviation_s
    from requests
    inner join spans
        on requests.trace = spans.trace and requests.workload is not distinct from spans.workload
    group by requests.trace, requests.workload
),

counted as (
    select
        trace,
        workload,
        window_number,
        count(*) as requests
    from requests
    group by trace, workload, window_number
),

-- Windows without a request have no row, and add nothing to the squares.
windows as (
    select
        trace,
        workload,
        max(window_number) - min(window_number) + 1 as windows,
        count(*) as busy_windows,
        max(requests) as busiest_window_requests,
        cast(sum(requests * requests) as double) as requests_squared
    from counted
    group by trace, workload
)

select
    spans.trace,
    spans.workload,
    spans.requests,
    spans.span_s,
    spans.mean_gap_s,
    gaps.deviation_s / nullif(spans.mean_gap_s, 0) as gap_cv,
    windows.windows,
    windows.requests_squared / spans.requests - spans.requests / windows.windows as dispersion,
    windows.windows - windows.busy_windows as idle_windows,
    windows.busiest_window_requests
from spans
inner join gaps on spans.trace = gaps.trace and spans.workload is not distinct from gaps.workload
inner join windows on spans.trace = windows.trace and spans.workload is not distinct from windows.workload
order by spans.trace, spans.workload nulls last;

comment on macro table unified.request_burstiness is
'All requests with an arrival, per trace and workload. mean_gap_s is the mean time between two consecutive '
'arrivals, and gap_cv the standard deviation of these gaps over their mean: 1 for a Poisson process, larger '
'for bursts; NULL for a single request. Windows of window_s seconds follow each other from the first arrival '
'in the trace; those from the first arrival of the workload to its last count. dispersion is the variance of '
'the requests per window over their mean, with the same reading as gap_cv. idle_windows have no request. '
'Traces with longer spans contain the change of the load over the day, and so have larger values.';
