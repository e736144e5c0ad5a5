-- Latency by serving stage (GenAI containers)
-- chart: bar x=stage y=median_ms title=Median latency by serving stage (GenAI containers)
create or replace macro genai.latency_by_stage() as table
select
    stage,
    count(*) as minutes,
    count(distinct container_id) as containers,
    percentiles(latency_ms) as ms
from genai.stage_latency
group by stage
order by stage;

comment on macro table genai.latency_by_stage is 'Container-minutes, containers and latency percentiles per stage.';
