-- Latency by serving stage (GenAI containers)
-- answers: wait
-- column: minutes: Container-minutes with a sample
-- column: containers [containers]: Containers
-- column: ms: Latency
-- chart: bar x=stage y=median_ms yname=median_latency_ms title=Median latency by serving stage (GenAI containers)
create or replace macro genai.latency_by_stage() as table
select
    stage,
    count(*) as minutes,
    count(distinct container_id) as containers,
    stats.percentiles(latency_ms).median as median_ms,
    stats.percentiles(latency_ms).p75 as p75_ms,
    stats.percentiles(latency_ms).p90 as p90_ms,
    stats.percentiles(latency_ms).p95 as p95_ms,
    stats.percentiles(latency_ms).p99 as p99_ms
from genai.stage_latency
group by stage
order by
    case stage
        when 'queue' then 1
        when 'pipeline_update' then 2
        when 'base_model' then 3
        when 'lora' then 4
        when 'controlnet' then 5
        when 'inference' then 6
        when 'end_to_end' then 7
    end,
    stage;

comment on macro table genai.latency_by_stage is 'Container-minutes, containers and latency percentiles per stage, in the order of the pipeline.';
