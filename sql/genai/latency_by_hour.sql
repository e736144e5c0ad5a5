-- Latency of a stage by hour of day (GenAI containers)
-- answers: hour of day
-- resolves_caveat: genai.inference_longer_than_end_to_end
-- resolves_caveat: genai.part_longer_than_pipeline
-- column: minutes: Container-minutes with a sample
-- column: ms: Latency
-- chart: line x=hour_of_day y=median_ms count=minutes yname=median_latency_ms title=Median latency of a stage by hour of day (GenAI containers)
create or replace macro genai.latency_by_hour(
    -- serving stage [queue pipeline_update base_model lora controlnet inference end_to_end]
    of_stage varchar := 'end_to_end'
) as table
select
    hour_of_day,
    count(*) as minutes,
    stats.percentiles(latency_ms).median as median_ms,
    stats.percentiles(latency_ms).p75 as p75_ms,
    stats.percentiles(latency_ms).p90 as p90_ms,
    stats.percentiles(latency_ms).p95 as p95_ms,
    stats.percentiles(latency_ms).p99 as p99_ms
from genai.stage_latency
where stage = of_stage
group by hour_of_day
order by hour_of_day;

comment on macro table genai.latency_by_hour is 'Container-minutes and latency percentiles per hour of the day in China.';
