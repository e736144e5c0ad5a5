-- GPU time by kind of job (ASI GPU pods)
-- answers: workload
-- chart: bar x=job_type y=held_gpu_h_pct color=priority
-- column: priority: HP or LP, or all priorities together
-- column: held_gpu_h: GPU time held by pods of the priority and kind
-- column: held_gpu_h_pct: Share of the GPU time of the priority
create or replace macro asi.gpu_time_by_job_type(
    from_day integer := 109,
    to_day integer := 184,
    gpu_pods_by varchar := 'memory',
    -- distinguish HP and LP pods and leave out others
    by_priority boolean := false
) as table
with pods as (
    select
        case when by_priority then priority else 'all' end as priority,
        job_type,
        held_gpu_h
    from asi.class_hour
    where
        day between from_day and to_day
        and case gpu_pods_by when 'memory' then requests_gpu_memory else requests_gpus end
        and job_type <> 'unknown'
        and (not by_priority or priority in ('HP', 'LP'))
),

kinds as (
    select
        priority,
        job_type,
        stats.fsum(held_gpu_h) as held_gpu_h
    from pods
    group by priority, job_type
)

select
    priority,
    job_type,
    held_gpu_h,
    100.0 * held_gpu_h
    / nullif(sum(stats.exact(held_gpu_h)) over (partition by priority), 0) as held_gpu_h_pct
from kinds
order by priority, job_type;

comment on macro table asi.gpu_time_by_job_type is
'GPU time that GPU pods of a known kind held in some days, as in the publisher''s job_type_distribution; '
'with by_priority, as in his job_type_priority_distribution. GPU pods are those that request GPU memory, '
'as in his script; with gpu_pods_by := gpus, those that request GPUs, as in his other figures.';
