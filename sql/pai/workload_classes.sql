-- Run time, failures and GPU use by workload (PAI tasks)
-- caveat: pai.status_mix_drifts
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- chart: bar x=workload y=held_gpu_h title=GPU-hours by workload (PAI tasks)
-- column: jobs: Jobs with a task of the workload
-- column: tagged_jobs_pct: Share of all counted jobs with a workload tag
-- column: tasks: Tasks of the workload, or its GPU tasks with gpu_only
-- column: known_pct: Share of the tasks whose outcome is known
-- column: failed_of_known_pct: Share of the tasks with a known outcome that failed
-- column: held_gpu_h: GPU-hours held, over all instances of a job, re-runs included
-- column: held_gpu_h_pct: Share of the held GPU-hours
-- column: measured_pct: Share of the held GPU-hours of measured workers
-- column: used_of_plan_pct: Used in percent of requested GPU-hours of measured workers
-- column: tasks_with_run [tasks]: Tasks of the workload whose run time is known
-- column: tasks_with_wait [tasks]: Tasks whose queueing delay is known
create or replace macro pai.workload_classes(gpu_only boolean := true) as table
-- The queueing delay is that of pai.task_wait.
with selected_tasks as (
    select
        job_name,
        task_name,
        status,
        workload,
        requested_gpus_per_instance * held_s as held_gpu_s,
        run_s,
        wait_s
    from pai.task_run
    where not gpu_only or requested_gpus_per_instance > 0
),

tasks as (
    select
        selected_tasks.workload,
        selected_tasks.job_name,
        selected_tasks.status,
        selected_tasks.held_gpu_s,
        selected_tasks.run_s,
        selected_tasks.wait_s,
        gpu_time.measured_gpu_s,
        gpu_time.used_gpu_s
    from selected_tasks
    left join pai.task_gpu_time as gpu_time
        on selected_tasks.job_name = gpu_time.job_name and selected_tasks.task_name = gpu_time.task_name
),

counted as (
    select
        workload,
        count(distinct job_name) as jobs,
        count(*) as tasks,
        count(*) filter (where status in ('Terminated', 'Failed')) as known_tasks,
        count(*) filter (where status = 'Failed') as failed,
        stats.fsum(held_gpu_s) / 3600.0 as held_gpu_h,
        coalesce(stats.fsum(measured_gpu_s), 0) / 3600.0 as measured_gpu_h,
        stats.fsum(used_gpu_s) / 3600.0 as used_gpu_h,
        count(run_s) as tasks_with_run,
        median(run_s) as median_run_s,
        count(wait_s) as tasks_with_wait,
        stats.percentiles(wait_s) as wait_s
    from tasks
    group by workload
),

with_totals as (
    select
        *,
        sum(jobs) over () as all_jobs,
        sum(case when workload is not null then jobs else 0 end) over () as tagged_jobs,
        sum(stats.exact(held_gpu_h)) over () as all_held_gpu_h
    from counted
)

select
    workload,
    with_totals.jobs,
    100.0 * with_totals.jobs / with_totals.all_jobs as jobs_pct,
    100.0 * with_totals.tagged_jobs / with_totals.all_jobs as tagged_jobs_pct,
    with_totals.tasks,
    100.0 * with_totals.known_tasks / with_totals.tasks as known_pct,
    100.0 * with_totals.failed / nullif(with_totals.known_tasks, 0) as failed_of_known_pct,
    with_totals.held_gpu_h,
    100.0 * with_totals.held_gpu_h / nullif(with_totals.all_held_gpu_h, 0) as held_gpu_h_pct,
    100.0 * with_totals.measured_gpu_h / nullif(with_totals.held_gpu_h, 0) as measured_pct,
    100.0 * with_totals.used_gpu_h / nullif(with_totals.measured_gpu_h, 0) as used_of_plan_pct,
    with_totals.tasks_with_run,
    with_totals.median_run_s,
    with_totals.tasks_with_wait,
    with_totals.wait_s.median as median_wait_s,
    with_totals.wait_s.p75 as p75_wait_s,
    with_totals.wait_s.p90 as p90_wait_s,
    with_totals.wait_s.p95 as p95_wait_s,
    with_totals.wait_s.p99 as p99_wait_s
from with_totals
order by with_totals.jobs desc, workload asc nulls last;

comment on macro table pai.workload_classes is
'Tasks (only those that request a GPU with gpu_only) by the workload tag of their job, NULL for jobs '
'without a tag. Few jobs have one, and they are not a random sample. jobs counts jobs with such a task, '
'jobs_pct is their share of all jobs with one, and tagged_jobs_pct, the same in each row, the share of '
'jobs with a tag. known_pct is the share of tasks whose outcome is known (Terminated or Failed) and '
'failed_of_known_pct the share of these that failed. held_gpu_h is requested GPUs per instance times the '
'time from start to end, over all launches with a start and a later end, including re-runs, NULL where '
'there is none; held_gpu_h_pct is its share of the total. measured_pct is the percentage of held_gpu_h '
'held by workers whose GPU use a sensor measured, in the run that the publisher''s rule keeps per '
'worker_name, if it has a start and a later end; used_of_plan_pct is the GPU time these workers used '
'according to the mean over their lifetime, in percent of their requested GPU time, including use above '
'the request. Median run time, from the first start of an instance to the last end, covers the '
'tasks_with_run: Terminated or Failed tasks with both times. Queueing delay, from the start of the task '
'to the first start of an instance, covers the tasks_with_wait. Percentiles are interpolated. Where no '
'worker was measured, measured_pct is 0 and used_of_plan_pct NULL. Percentages of 0 and percentiles of no '
'tasks are NULL.';
