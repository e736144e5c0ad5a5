-- DLRM instances as jobs in the standard format, clipped to the time that the trace covers.
-- grain: one row per instance
-- source: README of cluster-trace-gpu-v2025: no creation and no schedule is before the trace, no deletion after it
-- answers: submission, run, group or recurrence, workload
-- caveat: dlrm.services_not_jobs: submit_s observed_start_s run_s observed_run_s end_s
-- caveat: dlrm.times_are_cut_off: run_s observed_run_s
create or replace view dlrm.standard_job_v1 as
-- The trace begins at 0, and ends with the last time in it.
with trace_end as (
    select greatest(max(creation_time), max(scheduled_time), max(deletion_time)) as trace_end_s
    from dlrm.instance
),

seen as (
    select
        instance.instance_sn,
        instance.app_name,
        instance.role,
        instance.cpu_request,
        instance.gpu_request,
        instance.memory_request,
        instance.creation_time,
        instance.scheduled_time,
        instance.deletion_time,
        instance.creation_time is null as is_left_censored,
        case
            when instance.scheduled_time is not null then instance.scheduled_time
            when instance.creation_time is null then 0
        end as from_s,
        coalesce(instance.deletion_time, trace_end.trace_end_s) as to_s
    from dlrm.instance as instance
    cross join trace_end
)

select
    cast(null as varchar) as cluster,
    instance_sn as job_id,
    cast(null as varchar) as user_id,
    app_name as group_id,
    cast(null as timestamptz) as submit_time,
    creation_time as submit_s,
    cast(null as double) as local_submit_s,
    scheduled_time - creation_time as wait_s,
    coalesce(scheduled_time, to_s) - creation_time as observed_wait_s,
    from_s as observed_start_s,
    deletion_time - scheduled_time as run_s,
    to_s - from_s as observed_run_s,
    deletion_time as end_s,
    cast(cpu_request as double) as requested_cpus,
    cast(null as double) as allocated_cpus,
    cast(gpu_request as double) as requested_gpus,
    cast(gpu_request as double) as requested_gpus_per_instance,
    cast(null as double) as allocated_gpus,
    memory_request as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    gpu_request * (to_s - from_s) as held_gpu_s,
    'unknown' as status,
    deletion_time is null and from_s is not null as is_right_censored,
    is_left_censored,
    'recommendation' as workload,
    role as partition_name
from seen;

comment on column dlrm.standard_job_v1.group_id is 'Service that the instance belongs to; measured.';
comment on column dlrm.standard_job_v1.partition_name is 'CN, on a CPU node, or HN, on a GPU node; measured.';
