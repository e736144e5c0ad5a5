-- PAI tasks as jobs in the standard format.
-- grain: one row per (job_name, task_name), as the literature counts PAI's jobs
-- source: README and utils.py of cluster-trace-gpu-v2020
-- caveat: pai.empty_start_is_waiting: submit_s local_submit_s wait_s observed_wait_s
-- caveat: pai.failed_time_unknown: run_s observed_run_s held_gpu_s wait_s observed_wait_s observed_start_s
-- caveat: pai.gpu_counts_are_fractions: requested_gpus requested_gpus_per_instance held_gpu_s
-- caveat: pai.gpu_type_is_assigned: partition_name
-- caveat: pai.gpu_type_null: partition_name
-- caveat: pai.job_means_task_elsewhere
-- caveat: pai.memory_gb_looks_binary: requested_memory_gib
-- caveat: pai.misc_is_many_types: partition_name
-- caveat: pai.plan_is_per_instance: requested_gpus_per_instance
-- caveat: pai.shifted_clock: submit_s end_s
-- caveat: pai.status_mix_drifts: status
-- caveat: pai.tasks_without_instances: wait_s observed_wait_s
-- caveat: pai.workload_tag_is_rare: workload
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- materialize: parquet by submit_s, job_id
create or replace view pai.standard_job_v1 as
-- The publisher subtracted a constant that preserves hour and weekday.
with clock as (
    select local_offset_s
    from catalog.clocks
    where clock = 'pai.shifted'
),

-- A time of 0 means that the event did not happen.
launched as (
    select
        job_name,
        task_name,
        inst_num,
        status,
        case when start_time > 0 then start_time end as submit_s,
        case when end_time > 0 then end_time end as end_s,
        plan_cpu,
        plan_mem,
        coalesce(plan_gpu, 0) as plan_gpu,
        gpu_type
    from pai.task
)

select
    cast(null as varchar) as cluster,
    launched.job_name || '/' || launched.task_name as job_id,
    runs.user_id,
    runs.group_id,
    cast(null as timestamptz) as submit_time,
    launched.submit_s,
    launched.submit_s + (select clock.local_offset_s from clock) as local_submit_s,
    runs.wait_s,
    runs.wait_s as observed_wait_s,
    runs.first_start_s as observed_start_s,
    runs.run_s,
    runs.observed_run_s,
    coalesce(runs.first_start_s + runs.run_s, launched.end_s) as end_s,
    launched.inst_num * launched.plan_cpu / 100.0 as requested_cpus,
    cast(null as double) as allocated_cpus,
    launched.inst_num * launched.plan_gpu / 100.0 as requested_gpus,
    launched.plan_gpu / 100.0 as requested_gpus_per_instance,
    cast(null as double) as allocated_gpus,
    launched.inst_num * launched.plan_mem as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    launched.plan_gpu / 100.0 * runs.held_s as held_gpu_s,
    case launched.status
        when 'Terminated' then 'completed'
        when 'Failed' then 'failed'
        else 'unknown'
    end as status,
    launched.status = 'Running' as is_right_censored,
    false as is_left_censored,
    runs.workload,
    launched.gpu_type as partition_name
from launched
left join pai.task_run_v2 as runs
    on launched.job_name = runs.job_name and launched.task_name = runs.task_name;

comment on column pai.standard_job_v1.job_id is 'Job and task, joined by a slash; measured.';
