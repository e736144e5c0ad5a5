-- Requests by hour of day (requests of all traces)
-- resolves_caveat: burstgpt.failed_requests
-- resolves_caveat: burstgpt.ramp_up
-- chart: line x=hour_of_day y=requests_pct facet=trace+workload note=Time of day at the service. Traces without a known time zone are left out.
-- column: hour_of_day [no unit]: Hour of the day at the location of the service, 0 to 23
-- column: requests: Requests that arrive in that hour of the day
-- column: requests_pct: Share of the requests of the workload
-- column: input_tokens: Tokens of the prompts that arrive in that hour of the day
-- column: output_tokens: Tokens of the answers to the requests that arrive in that hour of the day
create or replace macro unified.requests_by_hour_of_day(
    -- [list of unified.requests.trace]
    in_trace varchar := null
) as table
with requests as (
    select
        trace,
        workload,
        input_tokens,
        output_tokens,
        stats.hour_of_day(local_arrival_s) as hour_of_day
    from unified.requests
    where local_arrival_s is not null and stats.is_chosen(trace, in_trace)
),

-- Where no request has tokens, their sum is not 0 but unknown.
workloads as (
    select
        trace,
        workload,
        count(*) as requests,
        case when count(input_tokens) > 0 then 0 end as no_input_tokens,
        case when count(output_tokens) > 0 then 0 end as no_output_tokens
    from requests
    group by trace, workload
),

hours as (select unnest(generate_series(0, 23)) as hour_of_day)

select
    workloads.trace,
    workloads.workload,
    hours.hour_of_day,
    count(requests.hour_of_day) as requests,
    100.0 * count(requests.hour_of_day) / workloads.requests as requests_pct,
    cast(coalesce(sum(requests.input_tokens), workloads.no_input_tokens) as bigint) as input_tokens,
    cast(coalesce(sum(requests.output_tokens), workloads.no_output_tokens) as bigint) as output_tokens
from workloads
cross join hours
left join requests
    on
        workloads.trace = requests.trace
        and workloads.workload is not distinct from requests.workload
        and hours.hour_of_day = requests.hour_of_day
group by
    workloads.trace,
    workloads.workload,
    workloads.requests,
    workloads.no_input_tokens,
    workloads.no_output_tokens,
    hours.hour_of_day
order by workloads.trace, workloads.workload nulls last, hours.hour_of_day;

comment on macro table unified.requests_by_hour_of_day is
'Requests per trace, workload and hour of the day at the location of the service, with all 24 hours. Traces '
'whose clock does not give the local time are left out: Azure, Mooncake and Qwen. requests_pct is the '
'percentage of the requests of the workload. input_tokens and output_tokens are sums; NULL if the trace '
'records no tokens of the workload. A day that the trace covers only in part counts for the hours that it '
'covers.';
