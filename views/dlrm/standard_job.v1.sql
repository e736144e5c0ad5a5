-- DLRM instances as jobs in the standard format.
-- grain: one row per instance
-- source: README of cluster-trace-gpu-v2025
-- caveat: dlrm.services_not_jobs
-- caveat: dlrm.times_are_cut_off: submit_s wait_s run_s end_s
create or replace view dlrm.standard_job_v1 as
select
    cast(null as varchar) as cluster,
    instance_sn as job_id,
    cast(null as varchar) as user_id,
    app_name as group_id,
    cast(null as timestamptz) as submit_time,
    creation_time as submit_s,
    cast(null as double) as local_submit_s,
    scheduled_time - creation_time as wait_s,
    deletion_time - scheduled_time as run_s,
    deletion_time as end_s,
    cast(cpu_request as double) as requested_cpus,
    cast(null as double) as allocated_cpus,
    cast(gpu_request as double) as requested_gpus,
    cast(gpu_request as double) as requested_gpus_per_instance,
    cast(null as double) as allocated_gpus,
    memory_request as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    gpu_request * (deletion_time - scheduled_time) as held_gpu_s,
    'unknown' as status,
    deletion_time is null as is_censored,
    'recommendation' as workload,
    role as partition_name
from dlrm.instance;

comment on column dlrm.standard_job_v1.group_id is 'Service that the instance belongs to; measured.';
comment on column dlrm.standard_job_v1.partition_name is 'CN, on a CPU node, or HN, on a GPU node; measured.';
