-- GPU utilisation by outcome (GPU jobs of two traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: acme.failure_needs_a_rule
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: asi.standby_counts_twice
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.status_mix_drifts
-- chart: bar x=trace+status y=mean_gpu_pct color=trace xname=trace_and_status yname=mean_gpu_utilisation_pct
-- column: sampled_per: What one measured value is a mean over: minutes of a GPU, or lives of workers
-- column: jobs: GPU jobs of the outcome
-- column: measured_jobs: GPU jobs of the outcome with a measured utilisation
-- column: gpu_h: GPU-hours that the jobs of the outcome held
-- column: measured_gpu_h: GPU-hours with a measured utilisation
-- column: measured_pct: Measured GPU-hours in percent of the GPU-hours held
-- column: mean_gpu_pct: Mean utilisation of allocated GPUs over the measured GPU-hours; fractions of a GPU count as such
create or replace macro unified.utilization_by_outcome(in_trace varchar := null) as table
with used as (
    select
        trace,
        job_id,
        sampled_per,
        measured_gpu_s,
        used_gpu_s
    from unified.utilization
    where stats.is_chosen(trace, in_trace)
),

units as (
    select
        trace,
        min(sampled_per) as sampled_per
    from used
    group by trace
),

jobs as (
    select
        jobs.trace,
        units.sampled_per,
        jobs.status,
        jobs.held_gpu_s,
        used.measured_gpu_s,
        used.used_gpu_s
    from unified.jobs as jobs
    inner join units on jobs.trace = units.trace
    left join used on jobs.trace = used.trace and jobs.job_id = used.job_id
    where jobs.requested_gpus > 0
)

select
    trace,
    sampled_per,
    status,
    count(*) as jobs,
    count(measured_gpu_s) as measured_jobs,
    stats.fsum(held_gpu_s) / 3600.0 as gpu_h,
    stats.fsum(measured_gpu_s) / 3600.0 as measured_gpu_h,
    100.0 * stats.fsum(measured_gpu_s) / nullif(stats.fsum(held_gpu_s), 0) as measured_pct,
    100.0 * stats.fsum(used_gpu_s) / nullif(stats.fsum(measured_gpu_s), 0) as mean_gpu_pct
from jobs
group by trace, sampled_per, status
order by trace, status;

comment on macro table unified.utilization_by_outcome is
'GPU utilisation of GPU jobs per trace and outcome, weighted by allocated GPU time, with the share of the '
'GPU time that was measured. Philly measures each GPU every minute; an attempt is joined with the minutes '
'of the GPUs that it held, which assumes that the job log and the measurements use the same clock. PAI '
'measures each worker over its whole life, in percent of one GPU, so that a task that requests half a GPU '
'and uses a quarter has 50 %, and one that uses more than it requests has more than 100 %; its jobs are '
'tasks. Measured GPU-hours exceed the GPU-hours held where attempts share a GPU. Acme is left out: its '
'jobs name no nodes, so that no job can be joined with a measurement; acme.utilization_by_day has the '
'utilisation of each cluster. ASI is left out: the outcome of its pods is unknown; '
'asi.utilization_by_hour has their utilisation. Other traces record no utilisation of jobs.';
