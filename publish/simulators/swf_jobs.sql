-- A line of 18 whole numbers per job, -1 for unknown. A processor is a GPU, or a fraction of a GPU, so that
-- fractional requests stay exact.
-- Source: the Parallel Workloads Archive, "The Standard Workload Format", version 2.2.
select
    -- from number: in the order of submission
    number as job_number,
    -- from submit_s, submit_time: seconds since the first job, whose date is in the header if known
    rounded(submit_s - first_submit_s) as submit_s,
    -- from wait_s [optional]
    rounded(wait_s) as wait_s,
    -- from run_s [optional]
    rounded(run_s) as run_s,
    -- from allocated_gpus: times --processors-per-gpu [optional]
    rounded_up(allocated_gpus * $processors_per_gpu) as allocated_processors,
    -- [optional]
    null as average_cpu_time_s,
    -- [optional]
    null as used_memory_kb,
    -- from requested_gpus: times --processors-per-gpu [optional]
    rounded_up(requested_gpus * $processors_per_gpu) as requested_processors,
    -- [optional]
    null as requested_time_s,
    -- from requested_memory_gib: KiB per processor [optional]
    rounded(requested_memory_gib * 1048576 / ceil(requested_gpus * $processors_per_gpu))
    as requested_memory_kb,
    -- from status: by its code [optional]
    case status
        when 'completed' then 1
        when 'failed' then 0
        when 'preempted' then 0
        when 'cancelled' then 5
    end as status,
    -- from user_id: user_id by its number in job_numbers.csv [optional]
    user_number,
    -- from group_id: group_id by its number in job_numbers.csv [optional]
    group_number,
    -- from workload: workload by its number in job_numbers.csv [optional]
    executable_number,
    -- [optional]
    null as queue_number,
    -- from partition_name: partition_name by its number in job_numbers.csv [optional]
    partition_number,
    -- [optional]
    null as preceding_job_number,
    -- [optional]
    null as think_time_s,
    job_partition <> partition_name
    as "partition_number: prefixed by their cluster, as several clusters are exported",
from job
order by number
