-- How long do PAI's tasks wait if they share a GPU, and if they want whole ones?
-- chart: bar x=request y=p90_wait_s
create or replace macro pai.wait_by_sharing() as table
with waits as (
    select
        case when requested_gpus_per_instance < 1 then 'shared GPU' else 'whole GPUs' end as request,
        wait_s
    from pai.task_wait
    where requested_gpus_per_instance > 0
)

select
    request,
    count(*) as tasks,
    median(wait_s) as median_wait_s,
    quantile_cont(wait_s, 0.9) as p90_wait_s,
    quantile_cont(wait_s, 0.99) as p99_wait_s
from waits
group by request
order by request;

comment on macro table pai.wait_by_sharing is 'Interpolated percentiles of the wait from a task''s launch to its first instance''s: tasks that request less than one GPU per instance, and those that request one or more.';
