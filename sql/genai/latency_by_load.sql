-- Latency by request rate or queue size (GenAI containers)
-- resolves_caveat: genai.clock_is_scaled
-- resolves_caveat: genai.inference_longer_than_end_to_end
-- resolves_caveat: genai.part_longer_than_pipeline
-- chart: box x=load_band y=ms:log yname=latency_ms xname=load_up_to_this_share_of_the_busiest_minute_pct
-- column: load_band [no unit]: Upper end of the band of load, in percent of the busiest minute; NULL if the load of the minute is not recorded
-- column: minutes_of_day [min]: Minutes of the day in the band in which the stage was measured
-- column: minutes: Container-minutes of the band in which the stage was measured
-- column: mean_request_rate [requests per s]: Mean of the generative requests per second of all containers over the minutes of the band, on the publisher's scale
-- column: mean_queued_requests: Mean queue size of the gateway over the minutes of the band
-- column: ms: Latency
create or replace macro genai.latency_by_load(
    -- serving stage [queue pipeline_update base_model lora controlnet inference end_to_end]
    of_stage varchar := 'end_to_end',
    -- request_rate, the generative requests per second of all containers, or queue_size, of the gateway
    -- [request_rate queue_size]
    by_load varchar := 'request_rate'
) as table
with rates as (
    select
        cast(round(qps.timestamp_anon * clock.scale) as bigint) as time_s,
        stats.fsum(qps.value) as request_rate
    from genai.qps
    cross join catalog.clocks as clock
    where qps.request_type = 'Generative Requests' and clock.clock = 'genai.telemetry'
    group by all
),

queues as (
    select
        cast(round(queue_size.timestamp_anon * clock.scale) as bigint) as time_s,
        queue_size.value as queued_requests
    from genai.queue_size
    cross join catalog.clocks as clock
    where clock.clock = 'genai.telemetry'
),

latencies as (
    select
        time_s,
        latency_ms
    from genai.stage_latency
    where stage = of_stage
),

joined as (
    select
        measured.time_s,
        rates.request_rate,
        queues.queued_requests
    from (select distinct latencies.time_s from latencies) as measured
    left join rates on measured.time_s = rates.time_s
    left join queues on measured.time_s = queues.time_s
),

minutes as (
    select
        time_s,
        request_rate,
        queued_requests,
        case by_load when 'request_rate' then request_rate else queued_requests end as amount
    from joined
),

-- The busiest minute of the whole day, whether or not the stage was measured in it.
busiest as (
    select
        case by_load
            when 'request_rate' then (select max(request_rate) from rates)
            else (select max(queued_requests) from queues)
        end as most
),

-- Rounds before the ceiling: sums of fractions differ in their last digits.
banded as (
    select
        minutes.time_s,
        minutes.request_rate,
        minutes.queued_requests,
        10 * cast(ceil(round(10 * minutes.amount / nullif(busiest.most, 0), 6)) as bigint) as load_band
    from minutes
    cross join busiest
),

load_bands as (
    select
        load_band,
        count(*) as minutes_of_day,
        stats.favg(request_rate) as mean_request_rate,
        stats.favg(queued_requests) as mean_queued_requests
    from banded
    group by load_band
),

latency_bands as (
    select
        banded.load_band,
        count(*) as minutes,
        stats.percentiles(latencies.latency_ms) as ms
    from latencies
    inner join banded on latencies.time_s = banded.time_s
    group by banded.load_band
)

select
    load_bands.load_band,
    load_bands.minutes_of_day,
    latency_bands.minutes,
    load_bands.mean_request_rate,
    load_bands.mean_queued_requests,
    latency_bands.ms.p5 as p5_ms,
    latency_bands.ms.p25 as p25_ms,
    latency_bands.ms.median as median_ms,
    latency_bands.ms.p75 as p75_ms,
    latency_bands.ms.p90 as p90_ms,
    latency_bands.ms.p95 as p95_ms,
    latency_bands.ms.p99 as p99_ms
from load_bands
inner join latency_bands on load_bands.load_band is not distinct from latency_bands.load_band
order by load_bands.load_band asc nulls last;

comment on macro table genai.latency_by_load is
'Interpolated percentiles of the latency of a stage over container-minutes, per tenth of the load of the '
'busiest minute of the day. The load is that of the whole system in the same minute: the sum of the '
'request rates of containers, or the queue size of the gateway. A minute without a record of the load is '
'in the band NULL; whether requests were served in it is unknown. Request rates are scaled by an unknown '
'factor, and latencies are means over an unknown number of events.';
