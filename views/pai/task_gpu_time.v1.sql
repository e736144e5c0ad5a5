-- GPU time that each task held and that its workers used, as far as sensors recorded it (PAI).
-- grain: one row per (job_name, task_name) that requests a GPU
-- source: README of cluster-trace-gpu-v2020, pai_task_table, pai_instance_table and pai_sensor_table
-- caveat: pai.gpu_type_is_assigned: gpu_type
-- caveat: pai.gpu_type_null: gpu_type
-- caveat: pai.group_tag_orphans: group_id workload
-- caveat: pai.sensor_covers_two_fifths: measured_workers measured_gpu_s used_gpu_s wasted_gpu_s over_plan_gpu_s
-- caveat: pai.sensor_is_lifetime_average: used_gpu_s wasted_gpu_s over_plan_gpu_s
-- caveat: pai.workload_tag_is_rare: workload
-- resolves_caveat: pai.gpu_use_over_100
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.use_is_absolute
-- materialize: parquet unsorted
create or replace view pai.task_gpu_time_v1 as
-- The use of one worker above its plan does not offset what another leaves unused, so both have a column.
with measured as (
    select
        job_name,
        task_name,
        count(*) as workers,
        stats.fsum(plan_gpu_pct / 100.0 * run_s) as measured_gpu_s,
        stats.fsum(gpu_pct / 100.0 * run_s) as used_gpu_s,
        stats.fsum(greatest(plan_gpu_pct / 100.0 - gpu_pct / 100.0, 0) * run_s) as wasted_gpu_s,
        stats.fsum(greatest(gpu_pct / 100.0 - plan_gpu_pct / 100.0, 0) * run_s) as over_plan_gpu_s
    from pai.sensed_worker_v1
    where plan_gpu_pct > 0 and gpu_pct is not null and run_s > 0
    group by job_name, task_name
),

launched as (
    select
        job_name,
        task_name,
        count(*) as workers
    from pai.worker_v1
    group by job_name, task_name
)

select
    task.job_name,
    task.task_name,
    task.gpu_type,
    task.user_id,
    task.group_id,
    task.workload,
    task.requested_gpus_per_instance * task.held_s as held_gpu_s,
    coalesce(launched.workers, 0) as workers,
    coalesce(measured.workers, 0) as measured_workers,
    measured.measured_gpu_s,
    measured.used_gpu_s,
    measured.wasted_gpu_s,
    measured.over_plan_gpu_s
from pai.task_run_v2 as task
left join launched on task.job_name = launched.job_name and task.task_name = launched.task_name
left join measured on task.job_name = measured.job_name and task.task_name = measured.task_name
where task.requested_gpus_per_instance > 0;

comment on column pai.task_gpu_time_v1.group_id is 'Group of jobs with similar inputs; NULL where the job has none, not the user; measured.';
comment on column pai.task_gpu_time_v1.workload is 'Kind of deep-learning work, a tag that few jobs have; derived.';
comment on column pai.task_gpu_time_v1.held_gpu_s is 'GPUs planned per instance times the seconds from start to end, summed over all launches that have a start and a later end, re-runs included; NULL where there is none; derived.';
comment on column pai.task_gpu_time_v1.workers is 'Workers that the task launched, each counted once, by its run that the publisher''s rule keeps; derived.';
comment on column pai.task_gpu_time_v1.measured_workers is 'Workers of the task whose GPU use the sensors measured and whose kept run, by the publisher''s rule, has a start and a later end; derived.';
comment on column pai.task_gpu_time_v1.measured_gpu_s is 'Part of held_gpu_s from the kept runs of the measured workers, one run each; NULL where there is none; derived.';
comment on column pai.task_gpu_time_v1.used_gpu_s is 'GPUs used, mean over the worker''s life, times the seconds of its kept run, summed over the measured workers; NULL where there is none; derived.';
comment on column pai.task_gpu_time_v1.wasted_gpu_s is 'Planned less used GPU time, summed over the measured workers that used less than planned; NULL if not measured; derived.';
comment on column pai.task_gpu_time_v1.over_plan_gpu_s is 'Used less planned GPU time, summed over the measured workers that used more than planned, so that measured_gpu_s + over_plan_gpu_s = used_gpu_s + wasted_gpu_s; NULL if not measured; derived.';
