-- GPU and memory utilisation by hour of day (GenAI containers)
-- chart: line x=hour_of_day y=mean_gpu_pct yname=mean_gpu_utilisation_pct title=Mean GPU utilisation by hour of day (GenAI containers)
-- column: containers [containers]: Containers with any measurement in the hour
-- column: gpu_containers [containers]: Containers with a measured GPU utilisation in the hour, over which it is averaged
-- column: mean_gpu_pct: Mean GPU utilisation
-- column: mean_gpu_memory_gib: Mean GPU memory in use
-- column: mean_memory_pct: Mean memory utilisation
create or replace macro genai.use_by_hour() as table
select
    hour_of_day,
    count(distinct container_id) as containers,
    count(distinct case when gpu_pct is not null then container_id end) as gpu_containers,
    stats.favg(gpu_pct) as mean_gpu_pct,
    stats.favg(gpu_memory_gib) as mean_gpu_memory_gib,
    stats.favg(memory_pct) as mean_memory_pct
from genai.container_minute
group by hour_of_day
order by hour_of_day;

comment on macro table genai.use_by_hour is
'Containers and containers with a measured GPU utilisation per hour of the day in China, and means of GPU '
'utilisation and memory over the container-minutes that have them. 64 of the 207 containers never have a '
'GPU utilisation: they have no GPU or it was not measured.';
