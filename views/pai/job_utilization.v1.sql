-- GPU time of PAI tasks with a measured utilisation, in the common format.
-- grain: one row per task with a measured worker
-- source: README of cluster-trace-gpu-v2020, pai_sensor_table
-- resolves_caveat: pai.sensor_is_lifetime_average
create or replace view pai.job_utilization_v1 as
select
    job_name || '/' || task_name as job_id,
    'lives of workers' as sampled_per,
    measured_gpu_s,
    used_gpu_s
from pai.task_gpu_time_v1
where measured_gpu_s > 0;

comment on column pai.job_utilization_v1.job_id is 'Task, as in pai.standard_job; derived.';
comment on column pai.job_utilization_v1.sampled_per is 'What one measured value is a mean over; derived.';
