-- Jobs, tasks, instances and GPU-hours of each user, and the user's rank by instances (PAI).
-- grain: one row per user of pai.job
-- source: README of cluster-trace-gpu-v2020, pai_job_table: user; MLaaS in the Wild (NSDI 2022) ranks users so
-- answers: user
-- caveat: pai.failed_time_unknown: gpu_h
-- caveat: pai.job_means_task_elsewhere: jobs failed_jobs
-- caveat: pai.sentinel_zero_start: gpu_h
-- resolves_caveat: pai.gpu_counts_are_fractions: gpu_tasks
-- resolves_caveat: pai.job_end_missing
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- materialize: parquet
-- Differs from version 1 in the last digits only: its sums are exact, and so the same on every run.
create or replace view pai.user_load_v2 as
with job_tasks as (
    select
        job_name,
        count(*) as tasks,
        count(*) filter (where requested_gpus_per_instance > 0) as gpu_tasks,
        stats.fsum(requested_gpus_per_instance * held_s / 3600.0) as gpu_h
    from pai.task_run_v2
    group by job_name
),

-- An instance counts for its job even if its task, which has the number of GPUs, is unknown.
job_instances as (
    select
        job_name,
        count(*) as instances
    from pai.instance
    group by job_name
),

totals as (
    select
        job."user" as user_id,
        count(*) as jobs,
        cast(coalesce(sum(job_tasks.tasks), 0) as bigint) as tasks,
        cast(coalesce(sum(job_tasks.gpu_tasks), 0) as bigint) as gpu_tasks,
        cast(coalesce(sum(job_instances.instances), 0) as bigint) as instances,
        coalesce(stats.fsum(job_tasks.gpu_h), 0) as gpu_h,
        count(*) filter (where job.status = 'Failed') as failed_jobs
    from pai.job as job
    left join job_tasks on job.job_name = job_tasks.job_name
    left join job_instances on job.job_name = job_instances.job_name
    where job."user" is not null
    group by job."user"
)

select
    user_id,
    jobs,
    tasks,
    gpu_tasks,
    instances,
    gpu_h,
    failed_jobs,
    row_number() over (order by instances desc, user_id asc) as instance_rank
from totals;
