-- Start skew of gangs by number of instances (PAI tasks)
-- resolves_caveat: pai.notebook_week_starts_later
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: pai.worker_name_repeats
-- chart: bar x=gang_band y=p90_skew_s xname=instances_of_the_task yname=p90_start_skew_s title=90th percentile of the start skew by instances (PAI tasks)
-- column: gang_band: Instances that a task of the band launches
-- column: covered_pct: Share of the tasks of which every instance appears exactly once, with a start
-- column: skew_s: Time from the first start of an instance of a task to the last
-- column: over_minute_pct: Share of the covered tasks whose last instance started more than a minute after the first
-- column: gpu_tasks_pct: Share of the tasks that request a GPU
-- column: early_gpu_h: GPU-hours that instances of covered tasks held before the last instance of their task started
-- column: early_of_held_pct: Early GPU-hours in percent of all GPU-hours that the covered tasks held
create or replace macro pai.gang_start_skew() as table
with gangs as (
    select
        row_number() over (order by job_name, task_name) as gang_number,
        job_name,
        task_name,
        instances,
        started_instances = instances and launched_instances = instances as is_covered,
        coalesce(requested_gpus_per_instance, 0) as gpus_per_instance,
        held_s
    from pai.task_run
    where instances >= 2
),

-- A start or an end of 0 did not happen.
started as (
    select
        gangs.gang_number,
        instance.start_time as start_s,
        case when instance.end_time > instance.start_time then instance.end_time end as end_s,
        max(instance.start_time) over (partition by gangs.gang_number) as last_start_s
    from pai.instance as instance
    inner join gangs on instance.job_name = gangs.job_name and instance.task_name = gangs.task_name
    where instance.start_time > 0 and gangs.is_covered
),

-- An instance that ended before the last one started held its GPUs only until its end. The time held counts runs with a
-- start and a later end, so the time held early does so, too.
skews as (
    select
        gang_number,
        max(start_s) - min(start_s) as skew_s,
        stats.fsum(
            case when end_s is not null then least(end_s, last_start_s) - start_s end
        ) as early_s
    from started
    group by gang_number
),

banded as (
    select
        case
            when gangs.instances < 3 then '2'
            when gangs.instances < 9 then '3 to 8'
            when gangs.instances < 33 then '9 to 32'
            when gangs.instances < 129 then '33 to 128'
            else 'over 128'
        end as gang_band,
        gangs.instances,
        gangs.is_covered,
        gangs.gpus_per_instance,
        skews.skew_s,
        gangs.gpus_per_instance * skews.early_s as early_gpu_s,
        case when gangs.is_covered then gangs.gpus_per_instance * gangs.held_s end as held_gpu_s
    from gangs
    left join skews on gangs.gang_number = skews.gang_number
)

select
    gang_band,
    count(*) as tasks,
    100.0 * count(skew_s) / count(*) as covered_pct,
    median(skew_s) as median_skew_s,
    quantile_cont(skew_s, 0.9) as p90_skew_s,
    max(skew_s) as max_skew_s,
    100.0 * count(*) filter (where skew_s > 60) / nullif(count(skew_s), 0) as over_minute_pct,
    100.0 * count(*) filter (where gpus_per_instance > 0) / count(*) as gpu_tasks_pct,
    stats.fsum(case when gpus_per_instance > 0 then early_gpu_s end) / 3600.0 as early_gpu_h,
    100.0 * stats.fsum(early_gpu_s) / nullif(stats.fsum(held_gpu_s), 0) as early_of_held_pct
from banded
group by gang_band
order by min(instances);

comment on macro table pai.gang_start_skew is
'How far apart the instances of a task start, for tasks of two instances or more, per number of instances. '
'Only covered tasks have a skew: every instance must appear once, with a start. So tasks with a repeated '
'instance, which ran again, and tasks with an instance that waits or has no recorded start, as interrupted '
'and some failed ones, have values in tasks, covered_pct and gpu_tasks_pct only; their skew is unknown, and '
'may be long. Tasks without a recorded number of instances are left out. A task is called a gang '
'because its instances belong together; the trace does not say whether they needed each other to work. '
'early_gpu_h counts the requested GPUs of each instance from its start to the last start of an instance of '
'its task, or to its own end if that was earlier: an upper bound of the GPU-hours lost to waiting for the '
'others. As in the GPU-hours held, which early_of_held_pct divides by, only instances with a start and a '
'later end count, so those of tasks that still ran are missing.';
