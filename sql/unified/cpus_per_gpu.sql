-- Requested CPU cores per GPU (GPU jobs per trace)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: acme.kalos_looks_idle
-- resolves_caveat: helios.gpus_change_daily
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: itp.capacity_not_published
-- resolves_caveat: openb.pods_are_not_all_load
-- chart: box x=trace y=cpus_per_gpu title=Requested CPU cores per GPU (GPU jobs per trace)
-- column: jobs: GPU jobs of the trace
-- column: covered_pct: Share of the GPU jobs whose requested CPU cores are known
-- column: cpus_per_gpu [CPU cores per GPU]: Requested CPU cores over requested GPUs
-- column: capacity_cpus_per_gpu [CPU cores per GPU]: CPU cores for each GPU of the machines that have GPUs
create or replace macro unified.cpus_per_gpu(in_trace varchar := null) as table
with jobs as (
    select
        trace,
        requested_gpus,
        requested_cpus,
        requested_cpus / requested_gpus as cpus_per_gpu
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0
),

counted as (
    select
        trace,
        count(*) as jobs,
        100.0 * count(cpus_per_gpu) / count(*) as covered_pct,
        stats.percentiles(cpus_per_gpu) as percentiles,
        stats.fsum(requested_cpus) / stats.fsum(case when requested_cpus is not null then requested_gpus end)
            as cpus_per_gpu
    from jobs
    group by trace
    having count(cpus_per_gpu) > 0
),

machines as (
    select
        trace,
        stats.fsum(cpus) / stats.fsum(case when cpus is not null then gpus end) as capacity_cpus_per_gpu
    from unified.capacity
    group by trace
)

select
    counted.trace,
    counted.jobs,
    counted.covered_pct,
    counted.percentiles.p5 as p5_cpus_per_gpu,
    counted.percentiles.p25 as p25_cpus_per_gpu,
    counted.percentiles.median as median_cpus_per_gpu,
    counted.percentiles.p75 as p75_cpus_per_gpu,
    counted.percentiles.p90 as p90_cpus_per_gpu,
    counted.percentiles.p95 as p95_cpus_per_gpu,
    counted.cpus_per_gpu,
    machines.capacity_cpus_per_gpu
from counted
left join machines on counted.trace = machines.trace
order by counted.trace;

comment on macro table unified.cpus_per_gpu is
'CPU cores that GPU jobs request, divided by the GPUs that they request, per trace: interpolated '
'percentiles over jobs, and cpus_per_gpu over all these jobs together, in which large jobs weigh more. Only '
'jobs whose CPU cores are known count (covered_pct of the GPU jobs); traces without such jobs have no row. '
'A fraction of a GPU counts as a fraction: 4 cores with half a GPU are 8 per GPU. capacity_cpus_per_gpu has '
'the CPU cores of the machines with GPUs over their GPUs, NULL where the trace does not record them. Where '
'jobs request more per GPU than that, the CPU cores run out before the GPUs, if requests bind: whether a '
'scheduler may place more than a machine has is not recorded. Jobs without a GPU, which need CPU cores of '
'the same machines too, do not count.';
