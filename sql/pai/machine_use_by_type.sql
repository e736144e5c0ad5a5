-- Machine utilisation by GPU type (PAI machines)
-- chart: bar x=gpu_type y=mean_gpu_pct
-- column: workers: Workers that the machines were seen by
create or replace macro pai.machine_use_by_type() as table
select
    gpu_type,
    machines,
    workers,
    observed_machine_h,
    mean_cpu_pct,
    mean_gpu_pct,
    mean_load
from pai.machine_use
order by gpu_type;

comment on macro table pai.machine_use_by_type is 'Use of the whole machine while workers run on it, per type of its GPUs: the machines and workers it was seen by, the machine-hours seen, the mean CPU use of a machine, the mean use of one of its GPUs and the mean load of a machine. Metrics are means over the life of each worker, and lives on one machine overlap: a second of a machine counts once, in equal parts for the workers that ran on it then. What a machine does without such a worker is not seen. A type without GPUs, or of machines that machine_spec lacks, has no use of GPUs. Left out are workers without a start, without an end after it, or without an instance.';
