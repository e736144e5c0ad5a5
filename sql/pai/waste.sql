-- Requested but unused GPU-hours by owner (PAI GPU tasks)
-- resolves_caveat: pai.gpu_type_null
-- chart: bar x=class y=wasted_gpu_h xname={per}
-- column: class: User, group, GPU type or workload by which the result is grouped
-- column: tasks: GPU tasks of the class
-- column: measured_workers: Workers whose GPU use a sensor measured and whose run time is known
-- column: held_gpu_h: GPU-hours held by the class
-- column: measured_gpu_h: GPU-hours requested by workers whose use was measured
-- column: used_gpu_h: GPU-hours that measured workers used
-- column: wasted_gpu_h: GPU-hours that measured workers requested and did not use
-- column: over_plan_gpu_h: GPU-hours that measured workers used above their request
-- column: wasted_pct: Share of the requested GPU-hours of measured workers that they did not use
-- column: wasted_of_all_pct: Share of the wasted GPU-hours of all classes
-- column: measured_pct: Share of the held GPU-hours of measured workers
create or replace macro pai.waste(
    -- what to group by [user group gpu_type workload]
    per varchar := 'user',
    -- number of classes to list, those with the most unused GPU-hours [1 to 1000000]
    top integer := 20
) as table
with tasks as (
    select
        case per
            when 'user' then user_id
            when 'group' then group_id
            when 'gpu_type' then gpu_type
            else workload
        end as class,
        held_gpu_s,
        measured_workers,
        measured_gpu_s,
        used_gpu_s,
        wasted_gpu_s,
        over_plan_gpu_s
    from pai.task_gpu_time
),

totals as (
    select
        class,
        count(*) as tasks,
        cast(sum(measured_workers) as bigint) as measured_workers,
        stats.fsum(held_gpu_s) / 3600.0 as held_gpu_h,
        coalesce(stats.fsum(measured_gpu_s), 0) / 3600.0 as measured_gpu_h,
        stats.fsum(used_gpu_s) / 3600.0 as used_gpu_h,
        stats.fsum(wasted_gpu_s) / 3600.0 as wasted_gpu_h,
        stats.fsum(over_plan_gpu_s) / 3600.0 as over_plan_gpu_h
    from tasks
    group by class
),

-- Rounds before sorting: equal sums may differ in their last digits.
ranked as (
    select
        *,
        sum(stats.exact(wasted_gpu_h)) over () as all_wasted_gpu_h,
        row_number() over (order by round(wasted_gpu_h, 6) desc nulls last, class asc nulls last) as place
    from totals
)

select
    class,
    tasks,
    ranked.measured_workers,
    held_gpu_h,
    measured_gpu_h,
    used_gpu_h,
    wasted_gpu_h,
    over_plan_gpu_h,
    100.0 * wasted_gpu_h / nullif(measured_gpu_h, 0) as wasted_pct,
    100.0 * wasted_gpu_h / nullif(all_wasted_gpu_h, 0) as wasted_of_all_pct,
    100.0 * measured_gpu_h / nullif(held_gpu_h, 0) as measured_pct
from ranked
where place <= top
order by place;

comment on macro table pai.waste is
'GPU tasks by user, group of the job, assigned GPU type or workload tag. class is NULL for tasks without '
'one, and such tasks count as one class. held_gpu_h is requested GPUs per instance times the time from '
'start to end, over all launches with a start and a later end, NULL where there is none. The other '
'columns cover the measured_workers: workers whose GPU use a sensor measured and whose run, the one that '
'the publisher''s rule keeps per worker_name, has a start and a later end. measured_gpu_h is the GPU time '
'these requested, used_gpu_h the GPU time they used according to the mean over the lifetime of the '
'worker, and wasted_gpu_h the requested but unused GPU time of workers that used less than requested. Use '
'above the request is not negative waste but over_plan_gpu_h: measured_gpu_h + over_plan_gpu_h = '
'used_gpu_h + wasted_gpu_h. wasted_pct is wasted_gpu_h in percent of measured_gpu_h; wasted_of_all_pct is '
'in percent of the waste of all classes, listed or not; measured_pct is measured_gpu_h in percent of '
'held_gpu_h, that is, how much the sensors cover. Where no worker was measured, measured_gpu_h is 0 and '
'used, wasted and over-plan GPU-hours are NULL. Classes are sorted by wasted_gpu_h (rounded to six '
'digits, then by name), largest first, NULL last.';
