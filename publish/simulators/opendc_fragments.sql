-- One fragment per task, with its mean usage in MHz. Only PAI records which share of its request a task used.
-- Source: OpenDC's FRAGMENT_SCHEMA_v2, July 2026.
select
    -- from number: in the order of submission
    int32(number) as id,
    -- from run_s: run_s in milliseconds
    rounded(run_s * 1000) as duration,
    -- from cpu_use_of_plan: mean usage of its workers, times --cpu-mhz
    -- [full use of the requested cores, not rounded up, or of --default-cpus]
    otherwise(
        cpu_use_of_plan * requested_cpus * $cpu_mhz,
        coalesce(nullif(requested_cpus, 0), $default_cpus) * $cpu_mhz
    ) as cpu_usage,
    -- from gpu_use_of_plan: mean usage of its workers, times --gpu-mhz
    -- [optional: full use of the requested GPUs, none without a request]
    otherwise(
        gpu_use_of_plan * nullif(requested_gpus, 0) * $gpu_mhz,
        nullif(requested_gpus, 0) * $gpu_mhz
    ) as gpu_usage,
    cpu_use_of_plan * requested_cpus > ceil(requested_cpus) as "cpu_usage: above cpu_capacity, kept",
    $gpu_mhz is not null and gpu_use_of_plan > 1
    as "gpu_usage: above gpu_capacity, kept: see pai.gpu_use_over_100",
from job
order by number
