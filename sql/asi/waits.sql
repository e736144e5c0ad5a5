-- Queueing delay of at most a day by size (ASI GPU pods)
-- answers: wait
-- resolves_caveat: asi.pods_without_gpu
-- chart: box x=gpu_band y=wait_s:log facet=priority xname=requested_gpus note=HP: high priority. LP: low priority.
-- column: gpu_band: Band of the GPUs that a pod requests, or all sizes together
-- column: pods: Pods with a GPU
-- column: unknown_wait_pods: Pods whose queueing delay is unknown
create or replace macro asi.waits(
    from_day integer := 109,
    to_day integer := 184,
    -- distinguish pods by the GPUs that they request
    by_size boolean := true
) as table
with numbered as (
    select
        priority,
        case
            when not by_size then 'all'
            when requested_gpus < 1 then 'below 1'
            when requested_gpus < 2 then '1'
            when requested_gpus < 8 then '2 to 7'
            when requested_gpus < 9 then '8'
            else '9 and more'
        end as gpu_band,
        requested_gpus,
        wait_s,
        row_number() over (partition by pod_id, requested_gpus order by day) as place
    from asi.pod_day
    where day between from_day and to_day and requested_gpus > 0
)

select
    priority,
    gpu_band,
    count(*) as pods,
    count(*) - count(wait_s) as unknown_wait_pods,
    stats.percentiles(wait_s).p5 as p5_wait_s,
    stats.percentiles(wait_s).p25 as p25_wait_s,
    stats.percentiles(wait_s).median as median_wait_s,
    stats.percentiles(wait_s).p75 as p75_wait_s,
    stats.percentiles(wait_s).p90 as p90_wait_s,
    stats.percentiles(wait_s).p95 as p95_wait_s,
    stats.percentiles(wait_s).p99 as p99_wait_s
from numbered
where place = 1
group by priority, gpu_band
order by priority, min(requested_gpus);

comment on macro table asi.waits is 'Time from creation to scheduling of pods with a GPU, each counted once, on its first day in these days. The cut-off is a day: no delay of 86,400 s or more is recorded, so that longer ones are missing or look shorter. Percentiles are of the known delays.';
