-- Queueing delay by priority (ASI GPU pods)
-- chart: box x=priority y=wait_s:log
-- column: pods: Pods with a GPU
-- column: unknown_wait_pods: Pods of an unknown queueing delay
create or replace macro asi.waits(from_day integer := 109, to_day integer := 184) as table
with numbered as (
    select
        priority,
        wait_s,
        row_number() over (partition by pod_id, requested_gpus order by day) as place
    from asi.pod_day
    where day between from_day and to_day and requested_gpus > 0
)

select
    priority,
    count(*) as pods,
    count(*) - count(wait_s) as unknown_wait_pods,
    quantile_cont(wait_s, 0.05) as p5_wait_s,
    quantile_cont(wait_s, 0.25) as p25_wait_s,
    percentiles(wait_s) as wait_s
from numbered
where place = 1
group by priority
order by priority;

comment on macro table asi.waits is 'Time from creation to scheduling of pods with a GPU, each counted once, on its first day in these days. No delay of a day or more is recorded.';
