-- GPU time by priority and kind of job (ASI GPU pods)
-- chart: stack x=priority y=held_gpu_h_pct color=job_type
-- column: held_gpu_h: GPU time held by pods of the priority and kind
-- column: held_gpu_h_pct: Share of the GPU time of the priority
create or replace macro asi.gpu_time_by_priority(
    from_day integer := 109, to_day integer := 184, gpu_pods_by varchar := 'memory'
) as table
with kinds as (
    select
        priority,
        job_type,
        fsum(held_gpu_h) as held_gpu_h
    from asi.class_hour
    where
        day between from_day and to_day
        and case gpu_pods_by when 'memory' then requests_gpu_memory else requests_gpus end
        and job_type <> 'unknown'
        and priority in ('HP', 'LP')
    group by priority, job_type
)

select
    priority,
    job_type,
    held_gpu_h,
    100.0 * held_gpu_h / nullif(fsum(held_gpu_h) over (partition by priority), 0) as held_gpu_h_pct
from kinds
order by priority, job_type;

comment on macro table asi.gpu_time_by_priority is 'GPU time that HP and LP pods of a known kind held in some days, as in the publisher''s job_type_priority_distribution. GPU pods are those that request GPU memory, as in his script; with gpus, those that request GPUs, as in his other figures.';
