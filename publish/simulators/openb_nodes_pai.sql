-- The node list.
select
    -- from machine [optional]
    machine as sn,
    -- from cap_cpu: cap_cpu in thousandths [optional]
    rounded(cap_cpu * 1000) as cpu_milli,
    -- from cap_mem: cap_mem, taken as GiB [optional]
    rounded(cap_mem * 1024) as memory_mib,
    -- from cap_gpu [optional]
    cap_gpu as gpu,
    -- from gpu_type: gpu_type, empty for CPU [optional]
    nullif(gpu_type, 'CPU') as model,
from pai.machine_spec
order by sn
