-- How much GPU memory and network do PAI's GPU workers use, per type of GPU or workload?
-- caveat: pai.sensor_covers_two_fifths
-- caveat: pai.sensor_is_lifetime_average
-- caveat: pai.network_units
-- caveat: pai.memory_gb_looks_binary
-- caveat: pai.gpu_type_is_assigned
-- caveat: pai.gpu_type_null
-- param: per: what to tell workers apart by
-- choices: per: gpu_type workload
-- chart: bar x=class y=median_gpu_memory_gb
-- column: class: Type of GPU or workload, NULL for workers without
create or replace macro pai.worker_memory_and_network(per varchar := 'gpu_type') as table
with workers as (
    select
        worker.worker_name,
        task.gpu_type,
        tagged.workload
    from pai.worker as worker
    inner join pai.task as task
        on worker.job_name = task.job_name and worker.task_name = task.task_name
    left join pai.job_group as tagged on worker.job_name = tagged.job_name
    where task.plan_gpu > 0
),

-- Outward from the workers: those without a sensor are what the answer does not cover.
seen as (
    select
        workers.gpu_type,
        workers.workload,
        sensor.avg_gpu_wrk_mem as gpu_memory_gb,
        sensor.max_gpu_wrk_mem as peak_gpu_memory_gb,
        sensor.read as read_bytes,
        sensor.write as write_bytes
    from workers
    left join pai.sensor as sensor on workers.worker_name = sensor.worker_name
),

classed as (
    select
        case per when 'gpu_type' then gpu_type else workload end as class,
        gpu_memory_gb,
        peak_gpu_memory_gb,
        read_bytes,
        write_bytes
    from seen
)

select
    class,
    count(*) as workers,
    100.0 * count(gpu_memory_gb) / count(*) as gpu_memory_known_pct,
    median(gpu_memory_gb) as median_gpu_memory_gb,
    quantile_cont(gpu_memory_gb, 0.9) as p90_gpu_memory_gb,
    quantile_cont(gpu_memory_gb, 0.99) as p99_gpu_memory_gb,
    100.0 * count(peak_gpu_memory_gb) / count(*) as peak_gpu_memory_known_pct,
    median(peak_gpu_memory_gb) as median_peak_gpu_memory_gb,
    quantile_cont(peak_gpu_memory_gb, 0.9) as p90_peak_gpu_memory_gb,
    quantile_cont(peak_gpu_memory_gb, 0.99) as p99_peak_gpu_memory_gb,
    100.0 * count(read_bytes) / count(*) as read_known_pct,
    median(read_bytes) as median_read_bytes,
    quantile_cont(read_bytes, 0.9) as p90_read_bytes,
    quantile_cont(read_bytes, 0.99) as p99_read_bytes,
    100.0 * count(write_bytes) / count(*) as write_known_pct,
    median(write_bytes) as median_write_bytes,
    quantile_cont(write_bytes, 0.9) as p90_write_bytes,
    quantile_cont(write_bytes, 0.99) as p99_write_bytes
from classed
group by class
order by class asc nulls last;

comment on macro table pai.worker_memory_and_network is 'Workers of tasks that request a GPU, one per worker_name, placed by the run that the publisher''s rule keeps, per type of GPU that the task was assigned or per workload tag of its job; class is NULL for those without. Of those whose sensor row has the figure, in percent of the workers (…_known_pct), the median and the interpolated 90th and 99th percentile, each worker counting once, however long it ran: of the GPU memory used in GB, mean over the worker''s life; of its peak in GB, the maximum over the life; and of the bytes read from and written to the network, a mean over the life whose interval the publisher does not name and which its notebook takes for bytes per second. Workers of which the sensors saw that they used nothing count with 0. Percentiles are NULL where no worker has the figure.';
