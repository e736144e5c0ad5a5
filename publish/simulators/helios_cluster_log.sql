-- Helios's job log, which several scheduler simulators read. Times are local, without a zone; duration is end
-- minus start, and queue is start minus submit.
-- Source: README of S-Lab-System-Group/HeliosData.
with waited as (
    select *, round(coalesce(wait_s, $default_wait_s)) as whole_wait_s, round(run_s) as whole_run_s
    from job
),

timed as (
    select
        *,
        round(case when submit_time is not null then local_submit_s end) as local_s,
        round(submit_s - first_submit_s + epoch(cast($first_day as date))) as default_s
    from waited
)

select
    -- from job_id, cluster
    job_name as job_id,
    -- from user_id [--default-user]
    otherwise(user_id, $default_user) as user,
    -- from partition_name: partition_name, otherwise the cluster [--default-vc]
    otherwise(coalesce(job_partition, cluster), $default_vc) as vc,
    -- from requested_gpus: GPUs requested, 0 if none
    rounded_up(coalesce(requested_gpus, 0)) as gpu_num,
    -- from requested_cpus [--default-cpus]
    otherwise(rounded_up(requested_cpus), $default_cpus) as cpu_num,
    -- from requested_gpus: nodes needed for its GPUs
    cast(greatest(1, ceil(coalesce(requested_gpus, 0) / $gpus_per_node)) as bigint) as node_num,
    -- from status: status, and the published state if it is TIMEOUT or NODE_FAIL [--default-state]
    otherwise(
        case
            when published_state in ('TIMEOUT', 'NODE_FAIL') then published_state
            when status = 'completed' then 'COMPLETED'
            when status = 'failed' then 'FAILED'
            when status in ('cancelled', 'preempted') then 'CANCELLED'
        end,
        $default_state
    ) as state,
    -- from submit_time, submit_s, local_submit_s: local time of the cluster
    -- [seconds since the first job, starting on --first-day]
    otherwise(log_time(local_s), log_time(default_s)) as submit_time,
    -- from wait_s: local time of the cluster
    -- [seconds since the first job, starting on --first-day, after --default-wait-s]
    otherwise(log_time(local_s + whole_wait_s), log_time(default_s + whole_wait_s)) as start_time,
    -- from end_s: local time of the cluster
    -- [seconds since the first job, starting on --first-day, after --default-wait-s]
    otherwise(
        log_time(local_s + whole_wait_s + whole_run_s), log_time(default_s + whole_wait_s + whole_run_s)
    ) as end_time,
    -- from run_s
    rounded(run_s) as duration,
    -- from wait_s [--default-wait-s]
    otherwise(rounded(wait_s), $default_wait_s) as queue,
    job_name <> job_id as "job_id: prefixed by their cluster, as several clusters are exported",
    job_partition <> partition_name as "vc: prefixed by their cluster, as several clusters are exported",
    status = 'preempted' as "state: preempted, as CANCELLED",
from timed
order by number
