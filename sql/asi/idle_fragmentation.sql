-- Idle GPUs that a job cannot use, by job shape (ASI servers)
-- answers: fragmentation
-- chart: stack x=job_gpus_and_cpus y=idle_gpus_pct color=reason
-- column: job_gpus_and_cpus [no unit]: GPUs and CPU cores of the job
-- column: job_gpus: GPUs of the job
-- column: job_cpus: CPU cores of the job
-- column: reason: Why the job cannot use the idle GPUs of a server
-- column: unusable_gpus: Idle GPUs that the job cannot use for this reason, mean over hours
-- column: idle_gpus_pct: Share of the idle GPUs of all servers
create or replace macro asi.idle_fragmentation(from_day integer := 109, to_day integer := 115) as table
with shapes as (
    select
        shape.job_gpus,
        shape.job_cpus
    from (
        values (1, 8), (1, 12), (4, 32), (4, 48), (4, 64), (8, 64), (8, 96), (8, 128)
    ) as shape (job_gpus, job_cpus)
),

reasons as (
    select
        known.place,
        known.reason
    from (
        values (1, 'fraction of a GPU'), (2, 'too few GPUs'), (3, 'too few CPU cores')
    ) as known (place, reason)
),

free as (
    select
        day,
        hour_of_day,
        idle_gpus,
        idle_cpus
    from asi.idle_hour
    where day between from_day and to_day and hour_of_day % 2 = 0 and gpus <> 16
),

parts as (
    select
        free.day,
        free.hour_of_day,
        shapes.job_gpus,
        shapes.job_cpus,
        free.idle_gpus,
        case
            when free.idle_cpus < shapes.job_cpus then 3
            when floor(free.idle_gpus) >= shapes.job_gpus then 1
            when floor(free.idle_gpus) > 0 then 2
        end as place,
        case
            when free.idle_gpus is null then null
            when free.idle_cpus < shapes.job_cpus then least(free.idle_gpus, shapes.job_gpus)
            when floor(free.idle_gpus) >= shapes.job_gpus then free.idle_gpus - floor(free.idle_gpus)
            else floor(free.idle_gpus)
        end as unusable_gpus
    from free
    cross join shapes
),

hours as (
    select
        parts.job_gpus,
        parts.job_cpus,
        reasons.place,
        reasons.reason,
        stats.fsum(parts.idle_gpus) as idle_gpus,
        stats.fsum(
            case
                when parts.idle_gpus is null then null
                when parts.place = reasons.place then parts.unusable_gpus
                else 0
            end
        ) as unusable_gpus
    from parts
    cross join reasons
    group by parts.day, parts.hour_of_day, parts.job_gpus, parts.job_cpus, reasons.place, reasons.reason
)

select
    concat_ws(' / ', cast(job_gpus as varchar), cast(job_cpus as varchar)) as job_gpus_and_cpus,
    job_gpus,
    job_cpus,
    reason,
    stats.favg(unusable_gpus) as unusable_gpus,
    100 * stats.favg(unusable_gpus) / nullif(stats.favg(idle_gpus), 0) as idle_gpus_pct
from hours
group by job_gpus, job_cpus, place, reason
order by job_gpus, job_cpus, place;

comment on macro table asi.idle_fragmentation is
'Idle GPUs that a job of a number of GPUs and CPU cores could not use, in even hours, by reason, as in '
'the publisher''s idle_gpu_fragmentation; servers of 16 GPUs are left out. Where a server has too few '
'free CPU cores, at most the GPUs of one job count. Only hours of days 109 to 115 count, and values of '
'other days are NULL: their standby is unknown.';
