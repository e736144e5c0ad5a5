-- Machines and capacity by GPU type (PAI machines)
-- resolves_caveat: pai.cpu_machines_in_spec
-- column: gpu_type: GPU type, or all
-- column: memory_gb: Memory
-- column: gpus_per_machine [GPUs]: GPUs of one machine
-- column: cpus_per_gpu [CPU cores per GPU]: CPU cores for each GPU of a machine
-- chart: bar x=gpu_type y=gpus title=GPUs by GPU type (PAI machines) note=Machines of the type CPU have no GPU.
create or replace macro pai.machines(
    -- smallest number of GPUs of a machine to include [0 to 100]
    min_gpus integer := 0,
    with_total boolean := false
) as table
select
    coalesce(gpu_type, 'all') as gpu_type,
    count(*) as machines,
    sum(cap_gpu)::bigint as gpus,
    sum(cap_cpu)::bigint as cpus,
    sum(cap_mem)::bigint as memory_gb,
    sum(cap_gpu) / nullif(count(*), 0) as gpus_per_machine,
    sum(cap_cpu) / nullif(sum(cap_gpu), 0) as cpus_per_gpu
from pai.machine_spec
where cap_gpu >= min_gpus
group by grouping sets ((gpu_type), ())
having bool_or(with_total) or grouping(gpu_type) = 0
order by grouping(gpu_type), gpu_type;

comment on macro table pai.machines is 'Machines, GPUs, CPU cores and memory per GPU type. The type CPU stands for machines without a GPU.';
