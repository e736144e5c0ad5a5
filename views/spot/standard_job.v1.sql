-- Jobs of the spot trace in the standard format.
-- grain: one row per job
-- source: README of cluster-trace-v2026-spot-gpu
-- materialize: parquet by submit_s, job_id
create or replace view spot.standard_job_v1 as
select
    cast(null as varchar) as cluster,
    job_id,
    cast(null as varchar) as user_id,
    organization as group_id,
    cast(null as timestamptz) as submit_time,
    submit_s,
    cast(null as double) as local_submit_s,
    cast(null as double) as wait_s,
    cast(null as double) as observed_wait_s,
    cast(null as double) as observed_start_s,
    run_s,
    run_s as observed_run_s,
    cast(null as double) as end_s,
    requested_cpus,
    cast(null as double) as allocated_cpus,
    requested_gpus,
    -- A job counts as one instance, as in other traces whose jobs are not split into tasks.
    requested_gpus as requested_gpus_per_instance,
    cast(null as double) as allocated_gpus,
    cast(null as double) as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    requested_gpus * run_s as held_gpu_s,
    'unknown' as status,
    cast(null as boolean) as is_right_censored,
    -- Jobs that ran when the trace began appear as submitted at 0, like those submitted at that time.
    case when submit_s > 0 then false end as is_left_censored,
    cast(null as varchar) as workload,
    gpu_model as partition_name
from spot.job_demand_v1;

comment on column spot.standard_job_v1.group_id is 'Organisation that pays, such as a department; measured.';
comment on column spot.standard_job_v1.held_gpu_s is 'GPUs that all workers request times how long the job took; derived.';
comment on column spot.standard_job_v1.partition_name is 'GPU model that the job requests; measured.';
