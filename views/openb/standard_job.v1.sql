-- openb pods as jobs in the standard format.
-- grain: one row per pod of the default list
-- source: README of cluster-trace-gpu-v2023, pod lists
-- caveat: openb.gpu_spec_only_in_gpuspec: partition_name
-- caveat: openb.pending_has_no_schedule: wait_s
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.deletion_never_empty: observed_wait_s run_s end_s is_right_censored
-- resolves_caveat: openb.multigpu_five_columns
-- resolves_caveat: openb.nomem_lists
-- resolves_caveat: openb.not_a_snapshot
-- resolves_caveat: openb.pending_has_no_schedule
-- resolves_caveat: openb.pending_is_withdrawn
-- resolves_caveat: openb.pod_name_differs_by_variant
-- resolves_caveat: openb.running_outcome_unknown
-- resolves_caveat: openb.time_origin_shifted
-- resolves_caveat: openb.times_from_first_pod: run_s is_right_censored
-- resolves_caveat: openb.variants_are_resampled
create or replace view openb.standard_job_v1 as
with pods as (
    select
        name,
        pod_phase,
        gpu_spec,
        submit_s,
        end_s,
        wait_s,
        run_s,
        requested_cpus,
        requested_gpus,
        requested_memory_gib,
        max(end_s) over () as trace_end_s
    from openb.pod_lifecycle_v1
    -- The other variants are resampled from the default list, so their pods are not additional jobs.
    where variant = 'default'
),

-- Pods that still ran when the trace ended have the end of the trace as deletion time.
seen as (
    select
        name,
        pod_phase,
        gpu_spec,
        submit_s,
        end_s,
        wait_s,
        run_s,
        requested_cpus,
        requested_gpus,
        requested_memory_gib,
        coalesce(pod_phase = 'Running' and end_s = trace_end_s, false) as is_right_censored
    from pods
)

select
    cast(null as varchar) as cluster,
    name as job_id,
    cast(null as varchar) as user_id,
    cast(null as varchar) as group_id,
    cast(null as timestamptz) as submit_time,
    cast(submit_s as double) as submit_s,
    cast(null as double) as local_submit_s,
    cast(wait_s as double) as wait_s,
    cast(coalesce(wait_s, end_s - submit_s) as double) as observed_wait_s,
    cast(submit_s + wait_s as double) as observed_start_s,
    cast(case when not is_right_censored then run_s end as double) as run_s,
    cast(run_s as double) as observed_run_s,
    cast(case when not is_right_censored then end_s end as double) as end_s,
    cast(requested_cpus as double) as requested_cpus,
    cast(null as double) as allocated_cpus,
    cast(requested_gpus as double) as requested_gpus,
    cast(requested_gpus as double) as requested_gpus_per_instance,
    cast(null as double) as allocated_gpus,
    cast(requested_memory_gib as double) as requested_memory_gib,
    cast(null as double) as allocated_memory_gib,
    requested_gpus * run_s as held_gpu_s,
    case pod_phase
        when 'Succeeded' then 'completed'
        when 'Failed' then 'failed'
        else 'unknown'
    end as status,
    is_right_censored,
    false as is_left_censored,
    cast(null as varchar) as workload,
    gpu_spec as partition_name
from seen;
