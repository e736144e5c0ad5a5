-- Acme jobs in the standard format.
-- grain: one row per (cluster, job_id)
-- source: README of AcmeTrace, job trace
-- caveat: acme.failure_needs_a_rule: status
-- caveat: acme.paper_counts_more_jobs
-- resolves_caveat: acme.failure_needs_a_rule
-- resolves_caveat: acme.states_beyond_readme
-- materialize: parquet by cluster, submit_s, job_id
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
        epoch(submit_time) as submit_s,
        epoch(start_time) as start_s,
        epoch(end_time) as end_s,
        coalesce(state = 'RUNNING', case when end_time is not null then false end) as is_right_censored,
        epoch(max(greatest(submit_time, start_time, end_time)) over (partition by cluster)) as trace_end_s
    from acme.job_v1
),

seen as (
    select
        *,
        case when is_right_censored then trace_end_s - start_s else run_s end as observed_run_s
    from seconds
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
    -- A job with an end but no start was withdrawn.
    coalesce(wait_s, end_s - submit_s) as observed_wait_s,
    start_s as observed_start_s,
    run_s,
    observed_run_s,
    end_s,
    cast(requested_cpus as double) as requested_cpus,
    cast(null as double) as allocated_cpus,
    cast(requested_gpus as double) as requested_gpus,
    cast(requested_gpus as double) as requested_gpus_per_instance,
    cast(case when run_s is not null then requested_gpus end as double) as allocated_gpus,
    cast(null as double) as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    requested_gpus * observed_run_s as held_gpu_s,
    case when state = 'PREEMPTED' then 'preempted' else coalesce(outcome, 'unknown') end as status,
    is_right_censored,
    false as is_left_censored,
    workload_type as workload,
    cluster as partition_name
from seen;
