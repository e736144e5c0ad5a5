-- Requested and held resources by role (DLRM instances)
-- caveat: dlrm.services_not_jobs
-- column: instances: Instances that ran at any time of the trace
-- column: services [services]: Services
-- column: requested_gpus: Requested GPUs of all instances of the trace, which did not run at the same time
-- column: requested_cpus: Requested CPU cores of all instances of the trace, which did not run at the same time
-- column: requested_memory_gib: Requested memory of all instances of the trace, which did not run at the same time
-- column: left_censored_instances: Instances that ran before the trace began
-- column: right_censored_instances: Instances without a recorded end
-- column: mean_running_instances: Running instances, mean over the trace
-- column: mean_held_gpus: GPUs of running instances, mean over the trace
-- column: mean_held_cpus: CPU cores of running instances, mean over the trace
-- column: mean_held_memory_gib: Memory of running instances, mean over the trace
create or replace macro dlrm.requests_by_role() as table
with instances as (
    select
        partition_name as role,
        group_id,
        requested_gpus,
        requested_cpus,
        requested_memory_gib,
        observed_run_s,
        is_left_censored,
        is_right_censored,
        -- The last time at which an instance of any role was seen running.
        max(observed_start_s + observed_run_s) over () as trace_s
    from dlrm.standard_job
)

select
    role,
    count(*) as instances,
    count(distinct group_id) as services,
    sum(cast(requested_gpus as bigint)) as requested_gpus,
    sum(cast(requested_cpus as bigint)) as requested_cpus,
    stats.fsum(requested_memory_gib) as requested_memory_gib,
    count(*) filter (where is_left_censored) as left_censored_instances,
    count(*) filter (where is_right_censored) as right_censored_instances,
    stats.fsum(observed_run_s) / max(trace_s) as mean_running_instances,
    stats.fsum(requested_gpus * observed_run_s) / max(trace_s) as mean_held_gpus,
    stats.fsum(requested_cpus * observed_run_s) / max(trace_s) as mean_held_cpus,
    stats.fsum(requested_memory_gib * observed_run_s) / max(trace_s) as mean_held_memory_gib
from instances
group by role
order by role;

comment on macro table dlrm.requests_by_role is
'Instances and services per role; the GPUs, CPU cores and memory that all instances of the month request, '
'and what running instances hold on average, which is the load. Instances that ran before the trace began '
'count from its first second, and instances without a recorded end to its last recorded time.';
