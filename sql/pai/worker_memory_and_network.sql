-- GPU memory and network use (PAI GPU workers)
-- caveat: pai.gpu_type_is_assigned
-- caveat: pai.gpu_type_null
-- caveat: pai.memory_gb_looks_binary
-- caveat: pai.network_units
-- caveat: pai.sensor_covers_two_fifths
-- caveat: pai.sensor_is_lifetime_average
-- resolves_caveat: pai.gpu_type_null
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- chart: bar x=class y=median_gpu_memory_gb xname={per} title=Median GPU memory in use (PAI GPU workers)
-- column: class: GPU type or workload tag, NULL for workers without one
-- column: gpu_memory_known_pct: Workers whose mean GPU memory is known
-- column: gpu_memory_gb: GPU memory in use, as a mean over the lifetime of a worker
-- column: peak_gpu_memory_known_pct: Workers whose peak of GPU memory is known
-- column: peak_gpu_memory_gb: Peak GPU memory of a worker
-- column: read_known_pct: Workers whose network input is known
-- column: read_bytes [bytes]: Network input of a worker
-- column: write_known_pct: Workers whose network output is known
-- column: write_bytes [bytes]: Network output of a worker
create or replace macro pai.worker_memory_and_network(
    -- what to group by [gpu_type workload]
    per varchar := 'gpu_type'
) as table
-- Counts all workers, because those without a sensor show how much the sensors cover.
with counted as (
    select
        case per when 'gpu_type' then gpu_type else workload end as class,
        cast(sum(workers) as bigint) as workers
    from pai.task_gpu_time
    where workers > 0
    group by class
),

-- Read only if per is workload.
workloads as (
    select
        job_name,
        task_name,
        workload
    from pai.task_gpu_time
    where per = 'workload'
),

sensed as (
    select
        worker.gpu_type,
        workloads.workload,
        worker.gpu_memory_gb,
        worker.peak_gpu_memory_gb,
        worker.read_bytes,
        worker.write_bytes
    from pai.sensed_worker as worker
    left join workloads on worker.job_name = workloads.job_name and worker.task_name = workloads.task_name
    where worker.plan_gpu_pct > 0
),

classed as (
    select
        case per when 'gpu_type' then gpu_type else workload end as class,
        gpu_memory_gb,
        peak_gpu_memory_gb,
        read_bytes,
        write_bytes
    from sensed
),

used as (
    select
        class,
        count(gpu_memory_gb) as gpu_memory_gb_known,
        stats.percentiles(gpu_memory_gb) as gpu_memory_gb,
        count(peak_gpu_memory_gb) as peak_gpu_memory_gb_known,
        stats.percentiles(peak_gpu_memory_gb) as peak_gpu_memory_gb,
        count(read_bytes) as read_bytes_known,
        stats.percentiles(read_bytes) as read_bytes,
        count(write_bytes) as write_bytes_known,
        stats.percentiles(write_bytes) as write_bytes
    from classed
    group by class
)

select
    counted.class,
    counted.workers,
    100.0 * coalesce(used.gpu_memory_gb_known, 0) / counted.workers as gpu_memory_known_pct,
    used.gpu_memory_gb.median as median_gpu_memory_gb,
    used.gpu_memory_gb.p75 as p75_gpu_memory_gb,
    used.gpu_memory_gb.p90 as p90_gpu_memory_gb,
    used.gpu_memory_gb.p95 as p95_gpu_memory_gb,
    used.gpu_memory_gb.p99 as p99_gpu_memory_gb,
    100.0 * coalesce(used.peak_gpu_memory_gb_known, 0) / counted.workers as peak_gpu_memory_known_pct,
    used.peak_gpu_memory_gb.median as median_peak_gpu_memory_gb,
    used.peak_gpu_memory_gb.p75 as p75_peak_gpu_memory_gb,
    used.peak_gpu_memory_gb.p90 as p90_peak_gpu_memory_gb,
    used.peak_gpu_memory_gb.p95 as p95_peak_gpu_memory_gb,
    used.peak_gpu_memory_gb.p99 as p99_peak_gpu_memory_gb,
    100.0 * coalesce(used.read_bytes_known, 0) / counted.workers as read_known_pct,
    used.read_bytes.median as median_read_bytes,
    used.read_bytes.p75 as p75_read_bytes,
    used.read_bytes.p90 as p90_read_bytes,
    used.read_bytes.p95 as p95_read_bytes,
    used.read_bytes.p99 as p99_read_bytes,
    100.0 * coalesce(used.write_bytes_known, 0) / counted.workers as write_known_pct,
    used.write_bytes.median as median_write_bytes,
    used.write_bytes.p75 as p75_write_bytes,
    used.write_bytes.p90 as p90_write_bytes,
    used.write_bytes.p95 as p95_write_bytes,
    used.write_bytes.p99 as p99_write_bytes
from counted
left join used on counted.class is not distinct from used.class
order by counted.class asc nulls last;

comment on macro table pai.worker_memory_and_network is
'Workers of tasks that request a GPU, one per worker_name, located by the run that the publisher''s rule '
'keeps, per GPU type assigned to the task or per workload tag of the job; class is NULL for workers '
'without one. For each figure, the percentage of workers whose sensor row has it (…_known_pct) and its '
'interpolated percentiles; each worker counts once, however long it ran. GPU memory is in GB: the mean '
'over the lifetime of the worker, and the peak, its maximum. Bytes read from and written to the network '
'are means over the lifetime over an interval that the publisher does not name; its notebook treats them '
'as bytes per second. Workers that used nothing count with 0. Percentiles are NULL where no worker has '
'the figure.';
