-- The job list of the simulator of PAI's authors. Cores and GPUs are those of each instance.
-- Source: utils.py and simulator.py of alibaba/clusterdata, cluster-trace-gpu-v2020/simulator. The columns are
-- those of its list pai_job_no_estimate_100K.csv.
select
    -- from number: in the order of submission; job_numbers.csv has its name
    number as job_id,
    -- from requested_gpus, requested_gpus_per_instance: its instances, one if the trace has none
    instance_count(instances, requested_gpus, requested_gpus_per_instance) as num_inst,
    -- from submit_s: seconds since the first job
    rounded(submit_s - first_submit_s) as submit_time,
    -- from requested_cpus: cores of an instance [--default-cpus]
    otherwise(
        round(requested_cpus / instance_count(instances, requested_gpus, requested_gpus_per_instance), 6),
        $default_cpus
    ) as num_cpu,
    -- from requested_gpus: GPUs of an instance, with fractions
    round(requested_gpus / instance_count(instances, requested_gpus, requested_gpus_per_instance), 6) as num_gpu,
    -- The partitions of these traces are the GPU models that a job requests or was allocated.
    -- from partition_name, requested_gpus: CPU without a GPU, otherwise the GPU model [optional]
    case
        when requested_gpus = 0 then 'CPU'
        when partition_name = 'V100M32' then 'V100'
        when $trace in ('openb', 'pai', 'spot') then partition_name
    end as gpu_type,
    -- from run_s
    rounded(run_s) as duration,
    -- from user_id [optional]
    user_id as user,
    partition_name = 'V100M32' as "gpu_type: V100M32, as V100: the simulator has no nodes of V100M32",
from job
order by number
