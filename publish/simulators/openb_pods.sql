-- The pod list, which the Kubernetes simulator of openb's authors reads. Each instance of a job is a pod, or
-- several pods if it requests more GPUs than a node has. `gpu_milli` is a pod's share of each of its GPUs.
-- Source: README and lists of cluster-trace-gpu-v2023.
with counted as (
    select *, instance_count(instances, requested_gpus, requested_gpus_per_instance) as instance_count
    from job
),

requested as (
    select *, round(requested_gpus / instance_count, 6) as instance_gpus
    from counted
),

sized as (
    select *, coalesce(num_gpu, cast(ceil(instance_gpus) as bigint), 0) as instance_num_gpu
    from requested
),

split as (
    select *, greatest(1, cast(ceil(instance_num_gpu / $gpus_per_node) as bigint)) as pods_per_instance
    from sized
),

-- The pods of a job are numbered.
pod as (
    select
        *,
        instance_count * pods_per_instance as pods,
        unnest(generate_series(1, instance_count * pods_per_instance)) as pod
    from split
)

select
    -- from job_id, cluster: job_id, and the pod's number where there are several
    case when pods > 1 then job_name || $separator || pod else job_name end as name,
    -- from requested_cpus: requested cores, per pod [--default-cpu-milli]
    otherwise(rounded(requested_cpus * 1000 / pods), $default_cpu_milli) as cpu_milli,
    -- from requested_memory_gib: requested memory, per pod [--default-memory-mib]
    otherwise(rounded(requested_memory_gib * 1024 / pods), $default_memory_mib) as memory_mib,
    -- from requested_gpus, requested_gpus_per_instance: GPUs that its instance requests, per pod, rounded up
    least($gpus_per_node, instance_num_gpu - (pod - 1) % pods_per_instance * $gpus_per_node) as num_gpu,
    -- from gpu_milli: its share of each of its GPUs
    rounded(coalesce(gpu_milli, 1000 * instance_gpus / nullif(instance_num_gpu, 0), 0)) as gpu_milli,
    -- The partitions of these traces are the GPU models that a job requests or was allocated.
    -- from partition_name [optional]
    case when $trace in ('openb', 'pai', 'spot') then partition_name end as gpu_spec,
    -- from qos [optional]
    qos,
    -- from status, is_right_censored: status [optional]
    case
        when pod_phase is not null then pod_phase
        when is_right_censored then 'Running'
        when status = 'completed' then 'Succeeded'
        when status in ('failed', 'cancelled', 'preempted') then 'Failed'
    end as pod_phase,
    -- from submit_s: seconds since the first job
    rounded(submit_s - first_submit_s) as creation_time,
    -- from end_s, observed_run_s: seconds since the first job [optional]
    rounded(coalesce(end_s, observed_start_s + observed_run_s) - first_submit_s) as deletion_time,
    -- from wait_s: seconds since the first job [optional]
    rounded(submit_s + wait_s - first_submit_s) as scheduled_time,
    job_name <> job_id as "name: prefixed by their cluster, as several clusters are exported",
    instance_num_gpu > 1 and instance_gpus < instance_num_gpu
    as "gpu_milli: shares of several GPUs, which openb's own pods do not have",
    pod.pod_phase is null and status = 'cancelled' as "pod_phase: cancelled, as Failed",
    pod.pod_phase is null and status = 'preempted' as "pod_phase: preempted, as Failed",
from pod
order by number, pod
