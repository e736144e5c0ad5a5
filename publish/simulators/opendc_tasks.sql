-- Tasks. Capacity is in MHz, summed over the cores or GPUs of a task; memory is in MB, taken as MiB.
-- Source: OpenDC's TASK_SCHEMA_V3, July 2026.
select
    -- from number: in the order of submission
    int32(number) as id,
    -- from submit_time, submit_s: its date, otherwise its seconds since the first job counted from 1970
    coalesce(submit_time, to_timestamp(submit_s - first_submit_s)) as submission_time,
    -- from run_s: run_s in milliseconds
    rounded(run_s * 1000) as duration,
    -- from requested_cpus: requested cores [--default-cpus]
    int32(otherwise(rounded_up(nullif(requested_cpus, 0)), $default_cpus)) as cpu_count,
    -- from requested_cpus: requested cores, rounded up, times --cpu-mhz [--default-cpus times --cpu-mhz]
    otherwise(ceil(nullif(requested_cpus, 0)) * $cpu_mhz, $default_cpus * $cpu_mhz) as cpu_capacity,
    -- from requested_memory_gib: requested MiB [--default-mem-mib]
    otherwise(rounded(nullif(requested_memory_gib, 0) * 1024), $default_mem_mib) as mem_capacity,
    -- from job_id, cluster [optional]
    job_name as name,
    -- from requested_gpus: requested GPUs [optional]
    int32(rounded_up(nullif(requested_gpus, 0))) as gpu_count,
    -- from requested_gpus: requested GPUs, with fractions, times --gpu-mhz [optional]
    nullif(requested_gpus, 0) * $gpu_mhz as gpu_capacity,
    -- [optional]
    cast(null as integer[]) as parents,
    -- [optional]
    cast(null as integer[]) as children,
    -- [optional]
    cast(null as boolean) as deferrable,
    -- [optional]
    cast(null as bigint) as deadline,
    job_name <> job_id as "name: prefixed by their cluster, as several clusters are exported",
from job
order by number
