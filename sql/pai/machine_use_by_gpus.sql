-- Machine utilisation by GPUs per machine (PAI machines)
-- chart: box x=machine_gpus y=gpu_pct yname=mean_gpu_utilisation_pct xname=gpus_of_the_machine title=Mean GPU utilisation by GPUs per machine (PAI machines)
-- column: machine_gpus: GPUs of the machine
-- column: machines: Machines with an observed worker
-- column: workers: Workers on which the figures are based
-- column: gpu_pct: GPU utilisation
-- column: cpu_pct: CPU utilisation
create or replace macro pai.machine_use_by_gpus() as table
select
    machine_gpus,
    count(*) as machines,
    cast(sum(workers) as bigint) as workers,
    stats.percentiles(mean_gpu_pct).p5 as p5_gpu_pct,
    stats.percentiles(mean_gpu_pct).p25 as p25_gpu_pct,
    stats.percentiles(mean_gpu_pct).median as median_gpu_pct,
    stats.percentiles(mean_gpu_pct).p75 as p75_gpu_pct,
    stats.percentiles(mean_gpu_pct).p90 as p90_gpu_pct,
    stats.percentiles(mean_gpu_pct).p95 as p95_gpu_pct,
    stats.percentiles(mean_cpu_pct).p5 as p5_cpu_pct,
    stats.percentiles(mean_cpu_pct).p25 as p25_cpu_pct,
    stats.percentiles(mean_cpu_pct).median as median_cpu_pct,
    stats.percentiles(mean_cpu_pct).p75 as p75_cpu_pct,
    stats.percentiles(mean_cpu_pct).p90 as p90_cpu_pct,
    stats.percentiles(mean_cpu_pct).p95 as p95_cpu_pct
from pai.machine_seen
group by machine_gpus
order by machine_gpus asc nulls last;

comment on macro table pai.machine_use_by_gpus is
'Interpolated percentiles over machines of the mean utilisation of a machine, per number of its GPUs: of one of its '
'GPUs, in percent, and of its CPU, in percent of all its cores. Each machine counts once; its mean is over the seconds in '
'which observed workers ran on it, as in pai.machine_use_by_type, so idle machines and idle times are missing and the '
'figures are higher than those of the fleet. A metric is a mean over the life of a worker: short peaks are smoothed. '
'Machines without a GPU have no GPU utilisation, and machine_gpus is NULL for machines that are not in machine_spec. '
'Workers without a start, a later end or an instance are left out.';
