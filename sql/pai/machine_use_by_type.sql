-- Machine utilisation by GPU type (PAI machines)
-- chart: bar x=gpu_type y=mean_gpu_pct yname=mean_gpu_utilisation_pct title=Mean GPU utilisation by GPU type (PAI machines)
-- column: workers: Workers on which the figures are based
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

comment on macro table pai.machine_use_by_type is
'Utilisation of whole machines while workers run on them, per GPU type: machines and workers observed, '
'observed machine-hours, mean CPU utilisation of a machine, mean utilisation of one of its GPUs and mean '
'load of a machine. The metrics are means over the lifetime of each worker, and lifetimes on one machine '
'overlap: each second of a machine counts once, split equally among the workers running on it. Times '
'without a worker are not observed. Machines without a GPU or without a row in machine_spec have no GPU '
'utilisation. Workers without a start, a later end or an instance are left out.';
