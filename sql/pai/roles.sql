-- Requests, queueing delay and GPU-hours by role (PAI tasks)
-- caveat: pai.plan_gpu_null_is_cpu_task
-- caveat: pai.plan_is_per_instance
-- caveat: pai.shifted_clock
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- chart: bar x=task_name y=held_gpu_h title=GPU-hours by role (PAI tasks)
-- column: tasks: Tasks of the role, with a GPU or without
-- column: jobs: Jobs that have a task of the role
-- column: multi_task_jobs: Jobs that have several tasks
-- column: gpu_tasks: Tasks that request a GPU
-- column: tasks_with_size [tasks]: Tasks that state a number of instances
-- column: instances: Instances that the tasks of the role launch
-- column: mean_instances: Mean number of instances of a task
-- column: median_instances: Median number of instances of a task
-- column: requested_gpus: Requested GPUs
-- column: tasks_with_wait [tasks]: Tasks of the role whose queueing delay is known
-- column: tasks_with_run [tasks]: Tasks of the role whose run time is known
-- column: held_gpu_h: GPU-hours held, over all instances of a job, re-runs included
-- column: held_gpu_h_pct: Share of the held GPU-hours
create or replace macro pai.roles() as table
-- The queueing delay is that of pai.task_wait.
with tasks as (
    select
        job_name,
        task_name,
        requested_gpus_per_instance,
        cast(instances as bigint) as inst_num,
        instances * requested_gpus_per_instance as requested_gpus,
        requested_gpus_per_instance * held_s as held_gpu_s,
        run_s,
        wait_s
    from pai.task_run
),

roles_of_jobs as (
    select
        job_name,
        task_name,
        count(*) as tasks
    from tasks
    where job_name is not null
    group by job_name, task_name
),

several as (
    select job_name
    from roles_of_jobs
    group by job_name
    having sum(tasks) > 1
),

jobs as (
    select
        roles.task_name,
        count(*) as jobs,
        count(several.job_name) as multi_task_jobs
    from roles_of_jobs as roles
    left join several on roles.job_name = several.job_name
    group by roles.task_name
),

counted as (
    select
        task_name,
        count(*) as tasks,
        count(*) filter (where requested_gpus_per_instance > 0) as gpu_tasks,
        count(inst_num) as tasks_with_size,
        cast(coalesce(sum(inst_num), 0) as bigint) as instances,
        stats.favg(inst_num) as mean_instances,
        median(inst_num) as median_instances,
        coalesce(stats.fsum(requested_gpus), 0) as requested_gpus,
        count(wait_s) as tasks_with_wait,
        median(wait_s) as median_wait_s,
        count(run_s) as tasks_with_run,
        median(run_s) as median_run_s,
        stats.fsum(held_gpu_s) / 3600.0 as held_gpu_h
    from tasks
    group by task_name
)

select
    counted.task_name,
    counted.tasks,
    coalesce(jobs.jobs, 0) as jobs,
    coalesce(jobs.multi_task_jobs, 0) as multi_task_jobs,
    counted.gpu_tasks,
    counted.tasks_with_size,
    counted.instances,
    counted.mean_instances,
    counted.median_instances,
    counted.requested_gpus,
    counted.tasks_with_wait,
    counted.median_wait_s,
    counted.tasks_with_run,
    counted.median_run_s,
    counted.held_gpu_h,
    100.0 * counted.held_gpu_h / nullif(sum(stats.exact(counted.held_gpu_h)) over (), 0) as held_gpu_h_pct
from counted
left join jobs on counted.task_name is not distinct from jobs.task_name
order by counted.tasks desc, counted.task_name asc nulls last;

comment on macro table pai.roles is
'All tasks, with and without a GPU, by task_name, which is the role within the job: tasks, jobs with a '
'task of the role, jobs among these with several tasks of any role, and tasks that request a GPU. '
'instances, mean_instances, median_instances and requested_gpus (inst_num times plan_gpu / 100, '
'including fractions, 0 for tasks without a GPU) cover the tasks_with_size that state a number of '
'instances. Median queueing delay, from the start of the task to the first start of an instance, covers '
'the tasks_with_wait. Median run time, from the first start of an instance to the last end, covers the '
'tasks_with_run: Terminated or Failed tasks with both times. held_gpu_h is requested GPUs per instance '
'times the time from start to end, over all launches with a start and a later end, including re-runs, '
'not failed and interrupted ones, which lack a time; NULL where there is none; held_gpu_h_pct is its '
'share of the total.';
