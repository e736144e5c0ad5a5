-- What roles do PAI's tasks have in their jobs, and what does each request, wait for and hold?
-- caveat: pai.plan_is_per_instance
-- caveat: pai.plan_gpu_null_is_cpu_task
-- caveat: pai.shifted_clock
-- chart: bar x=task_name y=held_gpu_h
-- column: instances: Instances that the role's tasks launch
-- column: tasks: Tasks of the role, with a GPU or without
-- column: jobs: Jobs that have a task of the role
-- column: tasks_with_wait: Tasks of the role whose wait is known
-- column: tasks_with_run: Tasks of the role whose run is known
create or replace macro pai.roles() as table
-- The wait is that of pai.task_wait; of the instances, only pai.task_run is asked.
with tasks as (
    select
        task.job_name,
        task.task_name,
        task.plan_gpu,
        cast(task.inst_num as bigint) as inst_num,
        task.inst_num * task.plan_gpu / 100.0 as requested_gpus,
        task.plan_gpu / 100.0 * run.held_s as held_gpu_s,
        case when task.status in ('Terminated', 'Failed') then run.run_s end as run_s,
        case when task.start_time > 0 then run.first_start_s - task.start_time end as wait_s,
        count(*) over (partition by task.job_name) > 1 as has_other_tasks
    from pai.task as task
    left join pai.task_run as run on task.job_name = run.job_name and task.task_name = run.task_name
),

counted as (
    select
        task_name,
        count(*) as tasks,
        count(distinct job_name) as jobs,
        count(distinct job_name) filter (where has_other_tasks) as multi_task_jobs,
        count(*) filter (where plan_gpu > 0) as gpu_tasks,
        count(inst_num) as tasks_with_size,
        cast(coalesce(sum(inst_num), 0) as bigint) as instances,
        favg(inst_num) as mean_instances,
        median(inst_num) as median_instances,
        coalesce(fsum(requested_gpus), 0) as requested_gpus,
        count(wait_s) as tasks_with_wait,
        median(wait_s) as median_wait_s,
        count(run_s) as tasks_with_run,
        median(run_s) as median_run_s,
        fsum(held_gpu_s) / 3600.0 as held_gpu_h
    from tasks
    group by task_name
)

select
    task_name,
    tasks,
    jobs,
    multi_task_jobs,
    gpu_tasks,
    tasks_with_size,
    instances,
    mean_instances,
    median_instances,
    requested_gpus,
    tasks_with_wait,
    median_wait_s,
    tasks_with_run,
    median_run_s,
    held_gpu_h,
    100.0 * held_gpu_h / nullif(fsum(held_gpu_h) over (), 0) as held_gpu_h_pct
from counted
order by tasks desc, task_name asc nulls last;

comment on macro table pai.roles is 'All tasks, with a GPU and without, by task_name, which is the role in the job: tasks, the jobs that have one of that role, those of these jobs that have several tasks, of whatever role, and the tasks that request a GPU. Over the tasks_with_size, those that say how many instances they launch, the sum, mean and median of these, and the GPUs requested: inst_num times plan_gpu / 100, fractions included, 0 for tasks without a GPU. The median wait is over the tasks_with_wait, from the start of the task to the first start of an instance; the median run over the tasks_with_run, from the first start of an instance to the last end, of tasks that are Terminated or Failed and have both. held_gpu_h is the GPUs planned per instance times the time from start to end, over all launches with a start and a later end, re-runs included, NULL where there is none, and held_gpu_h_pct its share of that of all roles.';
