-- Elapsed time by response tokens (BurstGPT answered requests)
-- resolves_caveat: burstgpt.elapsed_time
-- resolves_caveat: burstgpt.failed_requests
-- chart: box x=output_band_tokens y=latency_s:log facet=model yname=elapsed_time_s xname=output_tokens,_at_least
-- column: output_band_tokens: Smallest number of response tokens of the band
-- column: requests: Answered requests in the band
-- column: latency_s: Time from the request to its complete answer; of GenAI, execution time
create or replace macro burstgpt.elapsed_by_tokens(
    -- kind of use; NULL is every kind [burstgpt.request.workload]
    of_workload varchar := null
) as table
with banded as (
    select
        model,
        stats.power_of_two_band(output_tokens) as output_band_tokens,
        count(latency_s) as requests,
        stats.percentiles(latency_s) as latency_s
    from burstgpt.request
    where status <> 'failed' and latency_s is not null and (of_workload is null or workload = of_workload)
    group by all
)

select
    model,
    output_band_tokens,
    requests,
    latency_s.p5 as p5_latency_s,
    latency_s.p25 as p25_latency_s,
    latency_s.median as median_latency_s,
    latency_s.p75 as p75_latency_s,
    latency_s.p95 as p95_latency_s
from banded
order by model, output_band_tokens;

comment on macro table burstgpt.elapsed_by_tokens is
'Percentiles of the elapsed time of answered requests, per model and band of response tokens. A band goes from a '
'power of two to below the next: 512 is 512 to 1,023 tokens.';
