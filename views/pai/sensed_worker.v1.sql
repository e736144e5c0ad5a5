-- Sensor readings of each worker and the plan of its task, without worker names to keep it small (PAI).
-- grain: one row per worker of pai.worker that has a sensor row
-- source: README of cluster-trace-gpu-v2020, pai_sensor_table and pai_task_table
-- caveat: pai.cpu_use_over_request: cpu_pct plan_cpu_pct
-- caveat: pai.gpu_memory_over_device: peak_gpu_memory_gb
-- caveat: pai.gpu_type_is_assigned: gpu_type
-- caveat: pai.gpu_type_null: gpu_type
-- caveat: pai.gpu_use_over_100: gpu_pct
-- caveat: pai.memory_gb_looks_binary: memory_gb plan_memory_gb gpu_memory_gb peak_gpu_memory_gb
-- caveat: pai.misc_is_many_types: gpu_type
-- caveat: pai.network_units: read_bytes write_bytes
-- caveat: pai.plan_gpu_null_is_cpu_task: plan_gpu_pct
-- caveat: pai.sensor_covers_two_fifths
-- caveat: pai.sensor_is_lifetime_average: cpu_pct gpu_pct memory_gb gpu_memory_gb peak_gpu_memory_gb read_bytes write_bytes
-- caveat: pai.use_is_absolute: cpu_pct gpu_pct
-- resolves_caveat: pai.failed_time_unknown
-- resolves_caveat: pai.gpu_sharing_needs_device
-- resolves_caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: pai.worker_name_repeats
-- materialize: parquet unsorted
create or replace view pai.sensed_worker_v1 as
with sharing as (
    select
        worker_name,
        overlap_start_s
    from pai.gpu_sharing_v1
    where not is_same_job
    union
    select
        other_worker_name as worker_name,
        overlap_start_s
    from pai.gpu_sharing_v1
    where not is_same_job
),

-- Two workers overlap from the start of the later one.
sensed as (
    select
        worker.job_name,
        worker.task_name,
        worker.status,
        worker.run_s,
        sharing.worker_name is not null as is_gpu_shared_at_start,
        sensor.machine,
        sensor.gpu_name is not null as is_device_known,
        sensor.cpu_usage,
        sensor.gpu_wrk_util,
        sensor.avg_mem,
        sensor.avg_gpu_wrk_mem,
        sensor.max_gpu_wrk_mem,
        sensor.read,
        sensor.write
    from pai.worker_v1 as worker
    inner join pai.sensor as sensor on worker.worker_name = sensor.worker_name
    left join sharing
        on worker.worker_name = sharing.worker_name and worker.start_s = sharing.overlap_start_s
)

-- The plan is from the worker's own task. Workers without a task are rows, too.
select
    sensed.job_name,
    sensed.task_name,
    task.gpu_type,
    sensed.machine,
    sensed.is_device_known,
    sensed.status,
    sensed.run_s,
    sensed.is_gpu_shared_at_start,
    task.plan_cpu as plan_cpu_pct,
    task.plan_gpu as plan_gpu_pct,
    task.plan_mem as plan_memory_gb,
    sensed.cpu_usage as cpu_pct,
    sensed.gpu_wrk_util as gpu_pct,
    sensed.avg_mem as memory_gb,
    sensed.avg_gpu_wrk_mem as gpu_memory_gb,
    sensed.max_gpu_wrk_mem as peak_gpu_memory_gb,
    sensed.read as read_bytes,
    sensed.write as write_bytes
from sensed
left join pai.task as task on sensed.job_name = task.job_name and sensed.task_name = task.task_name;

comment on column pai.sensed_worker_v1.job_name is 'Job of the worker''s run that the publisher''s rule keeps; measured.';
comment on column pai.sensed_worker_v1.task_name is 'Task of the kept run, its role in the job; measured.';
comment on column pai.sensed_worker_v1.machine is 'Machine in the worker''s sensor row; measured.';
comment on column pai.sensed_worker_v1.is_device_known is 'Whether the sensor row identifies a GPU of the machine; derived.';
comment on column pai.sensed_worker_v1.status is 'Status of the kept run; measured.';
comment on column pai.sensed_worker_v1.is_gpu_shared_at_start is 'Whether a worker of another job was running on its GPU when the kept run started; false if the GPU or a time is not known; derived.';
comment on column pai.sensed_worker_v1.run_s is 'Seconds from start to end of the kept run; NULL unless it has both; derived.';
comment on column pai.sensed_worker_v1.read_bytes is 'Bytes read from the network, mean over the life of the worker, over an interval that the publisher does not document; measured.';
comment on column pai.sensed_worker_v1.write_bytes is 'Bytes written to the network, mean over the life of the worker, over an interval that the publisher does not document; measured.';
