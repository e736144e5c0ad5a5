-- GPU and memory utilisation by hour of day (GenAI containers)
-- chart: line x=hour_of_day y=mean_gpu_pct
create or replace macro genai.use_by_hour() as table
select
    hour_of_day,
    count(distinct container_id) as containers,
    favg(gpu_pct) as mean_gpu_pct,
    favg(gpu_memory_gib) as mean_gpu_memory_gib,
    favg(memory_pct) as mean_memory_pct
from genai.container_minute
group by hour_of_day
order by hour_of_day;

comment on macro table genai.use_by_hour is 'Containers per hour of the day in China, and means of their GPU utilisation and memory.';
