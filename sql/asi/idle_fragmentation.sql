-- Idle GPUs that a job cannot use, by job shape (ASI servers)
-- chart: bar x=job_cpus y=too_few_cpus_pct facet=job_gpus
-- column: job_gpus: GPUs of the job
-- column: job_cpus: CPU cores of the job
-- column: idle_gpus: Idle GPUs of all servers, mean over hours
-- column: fractional_pct: Share of the idle GPUs that are fractions of a GPU
-- column: too_few_gpus_pct: Share of the idle GPUs on servers with fewer idle GPUs than the job needs
-- column: too_few_cpus_pct: Share of the idle GPUs on servers with fewer free CPU cores than the job needs
create or replace macro asi.idle_fragmentation(from_day integer := 109, to_day integer := 115) as table
with shapes as (
    select
        shape.job_gpus,
        shape.job_cpus
    from (
        values (1, 8), (1, 12), (4, 32), (4, 48), (4, 64), (8, 64), (8, 96), (8, 128)
    ) as shape (job_gpus, job_cpus)
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
            when free.idle_cpus >= shapes.job_cpus and floor(free.idle_gpus) >= shapes.job_gpus
                then free.idle_gpus - floor(free.idle_gpus)
            else 0
        end as fractional_gpus,
        case
            when
                free.idle_cpus >= shapes.job_cpus
                and floor(free.idle_gpus) > 0 and floor(free.idle_gpus) < shapes.job_gpus
                then floor(free.idle_gpus)
            else 0
        end as too_few_gpus,
        case
            when free.idle_cpus >= shapes.job_cpus then 0
            when free.idle_gpus >= shapes.job_gpus then shapes.job_gpus
            else free.idle_gpus
        end as too_few_cpus
    from free
    cross join shapes
),

hours as (
    select
        job_gpus,
        job_cpus,
        fsum(idle_gpus) as idle_gpus,
        fsum(fractional_gpus) as fractional_gpus,
        fsum(too_few_gpus) as too_few_gpus,
        fsum(too_few_cpus) as too_few_cpus
    from parts
    group by day, hour_of_day, job_gpus, job_cpus
)

select
    job_gpus,
    job_cpus,
    favg(idle_gpus) as idle_gpus,
    100 * favg(fractional_gpus) / nullif(favg(idle_gpus), 0) as fractional_pct,
    100 * favg(too_few_gpus) / nullif(favg(idle_gpus), 0) as too_few_gpus_pct,
    100 * favg(too_few_cpus) / nullif(favg(idle_gpus), 0) as too_few_cpus_pct
from hours
group by job_gpus, job_cpus
order by job_gpus, job_cpus;

comment on macro table asi.idle_fragmentation is 'Idle GPUs that a job of a number of GPUs and CPU cores could not use, in even hours, as in the publisher''s idle_gpu_fragmentation; servers of 16 GPUs are left out.';
