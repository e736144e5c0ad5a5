-- Acme jobs in the standard format.
-- grain: one row per (cluster, job_id)
-- source: README of AcmeTrace, job trace
-- caveat: acme.failure_needs_a_rule: status
create or replace view acme.standard_job_v1 as
-- Both clusters are in China, and Kalos's times are instants as well.
with clock as (
    select local_offset_s
    from catalog.clocks
    where clock = 'acme.seren_jobs'
),

seconds as (
    select
        cluster,
        job_id,
        user_id,
        workload_type,
        state,
        outcome,
        submit_time,
        requested_gpus,
        requested_cpus,
        wait_s,
        run_s,
        gpu_s,
        epoch(submit_time) as submit_s,
        epoch(end_time) as end_s
    from acme.job_v1
)

select
    cluster,
    job_id,
    user_id,
    cast(null as varchar) as group_id,
    submit_time,
    submit_s,
    submit_s + (select clock.local_offset_s from clock) as local_submit_s,
    wait_s,
    run_s,
    end_s,
    cast(requested_cpus as double) as requested_cpus,
    cast(null as double) as allocated_cpus,
    cast(requested_gpus as double) as requested_gpus,
    cast(requested_gpus as double) as requested_gpus_per_instance,
    cast(case when run_s is not null then requested_gpus end as double) as allocated_gpus,
    cast(null as double) as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    gpu_s as held_gpu_s,
    case when state = 'PREEMPTED' then 'preempted' else coalesce(outcome, 'unknown') end as status,
    coalesce(state = 'RUNNING', false) as is_censored,
    workload_type as workload,
    cluster as partition_name
from seconds;
