-- The job log of Philly, which Blox and other simulators read: a JSON list with an object per job. Times are
-- local, without a zone, and 'None' if they are unknown.
-- Source: README of msr-fiddle/philly-traces, cluster_job_log; workload/parse_philly_jobs.py of msr-fiddle/blox.
with timed as (
    select
        *,
        round(case when submit_time is not null then local_submit_s end) as local_s,
        round(submit_s - first_submit_s + epoch(cast($first_day as date))) as default_s,
        cast(ceil(requested_gpus) as bigint) as gpus,
        round(run_s) as whole_run_s
    from job
),

-- The GPUs fill one machine after the other.
placed as (
    select
        *,
        list_transform(
            generate_series(0, gpus - 1, $gpus_per_node),
            lambda first: struct_pack(
                ip := 'm' || (first // $gpus_per_node + 1),
                gpus := list_transform(
                    generate_series(0, least($gpus_per_node, gpus - first) - 1), lambda gpu: 'gpu' || gpu
                )
            )
        ) as detail
    from timed
)

select
    -- from status: Pass for completed, Failed for failed, Killed for cancelled or preempted [--default-status]
    otherwise(
        case status
            when 'completed' then 'Pass'
            when 'failed' then 'Failed'
            when 'cancelled' then 'Killed'
            when 'preempted' then 'Killed'
        end,
        $default_status
    ) as status,
    -- from partition_name: partition_name, otherwise the cluster [--default-vc]
    otherwise(coalesce(job_partition, cluster), $default_vc) as vc,
    -- from job_id, cluster
    job_name as jobid,
    -- from wait_s, run_s, requested_gpus: the attempts of Philly; of other jobs, one from start to end, on
    -- machines of --gpus-per-node GPUs that are numbered within the job; none if it did not start
    -- [after --default-wait-s, on a clock that starts on --first-day]
    otherwise(
        coalesce(
            attempts,
            otherwise(
                attempt(local_s + round(wait_s), whole_run_s, detail),
                attempt(
                    coalesce(local_s, default_s)
                    + coalesce(round(wait_s), case when run_s is not null then $default_wait_s end),
                    whole_run_s,
                    detail
                )
            )
        ),
        case when wait_s is null and run_s is null then [] end
    ) as attempts,
    -- from submit_time, submit_s, local_submit_s: local time of the cluster
    -- [seconds since the first job, starting on --first-day]
    coalesce(submitted_time, otherwise(log_time(local_s), log_time(default_s))) as submitted_time,
    -- from user_id [--default-user]
    otherwise(user_id, $default_user) as user,
    job_name <> job_id as "jobid: prefixed by their cluster, as several clusters are exported",
    job_partition <> partition_name as "vc: prefixed by their cluster, as several clusters are exported",
    status = 'preempted' as "status: preempted, as Killed",
    attempts is null and requested_gpus < gpus as "attempts: with GPUs rounded up",
from placed
order by number
