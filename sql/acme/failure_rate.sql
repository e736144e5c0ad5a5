-- GPU-hours per failure by type and job size (Acme jobs)
-- caveat: acme.failure_needs_a_rule
-- caveat: acme.paper_counts_more_jobs
-- caveat: acme.states_beyond_readme
-- caveat: acme.types_differ_by_cluster
-- resolves_caveat: acme.cpu_jobs_included
-- chart: point x=size_band y=gpu_h_per_failure:log color=workload_type xname=requested_gpus
-- column: workload_type: Type of work, or all
-- column: size_band: Band of requested GPUs
-- column: jobs: Jobs of the type and band, or the GPU jobs with gpu_only
-- column: failed_jobs: Jobs of the type and band that failed
-- column: failed_jobs_pct: Share of the jobs of the type and band that failed
-- column: held_gpu_h: GPU-hours from start to end, for all outcomes
-- column: gpu_h_per_failure [GPU-h]: GPU-hours held for each failed job
-- column: covered_pct: Share of the jobs whose run time is known
-- column: known_pct: Share of the jobs whose outcome is known
create or replace macro acme.failure_rate(
    on_cluster varchar := 'seren',
    gpu_only boolean := true,
    preempted_fails boolean := false,
    -- one row per type of work and band instead of one per band
    by_type boolean := true
) as table
-- The bands of unified.jobs.
with classified as (
    select
        requested_gpus,
        case
            when requested_gpus = 0 then 'no GPU'
            when requested_gpus = 1 then '1'
            when requested_gpus < 8 then '2 to 7'
            when requested_gpus = 8 then '8'
            when requested_gpus < 64 then '9 to 63'
            when requested_gpus < 512 then '64 to 511'
            when requested_gpus >= 512 then '512 and more'
        end as size_band,
        case when by_type then workload_type else 'all' end as workload_type,
        gpu_h,
        outcome,
        coalesce(
            state in ('FAILED', 'TIMEOUT', 'NODE_FAIL') or (preempted_fails and state = 'PREEMPTED'), false
        ) as has_failed
    from acme.job
    where cluster = on_cluster and (not gpu_only or requested_gpus > 0)
),

counted as (
    select
        workload_type,
        size_band,
        min(requested_gpus) as least_gpus,
        count(*) as jobs,
        count(gpu_h) as covered_jobs,
        count(outcome) as known_jobs,
        count(*) filter (where has_failed) as failed_jobs,
        stats.fsum(gpu_h) as held_gpu_h
    from classified
    group by workload_type, size_band
)

select
    workload_type,
    size_band,
    jobs,
    failed_jobs,
    100.0 * failed_jobs / jobs as failed_jobs_pct,
    held_gpu_h,
    nullif(held_gpu_h, 0) / nullif(failed_jobs, 0) as gpu_h_per_failure,
    100.0 * covered_jobs / jobs as covered_pct,
    100.0 * known_jobs / jobs as known_pct
from counted
order by workload_type asc nulls last, least_gpus asc;

comment on macro table acme.failure_rate is
'Jobs of the cluster by type of work (one row named all where by_type is false) and by band of requested '
'GPUs: no GPU, 1, 2 to 7, 8, 9 to 63, 64 to 511, 512 and more. A band without jobs of the type has no '
'row. failed_jobs ended FAILED, TIMEOUT or NODE_FAIL, or PREEMPTED with preempted_fails. held_gpu_h is '
'requested GPUs times end_time - start_time, summed over all jobs of the row for all outcomes, and NULL '
'where no job has both times. covered_pct is the percentage of jobs with both times; known_pct is the '
'percentage of jobs whose state is COMPLETED, CANCELLED, FAILED, TIMEOUT, NODE_FAIL or PREEMPTED. '
'gpu_h_per_failure is held_gpu_h divided by failed_jobs, NULL where no job failed or the jobs held no GPU '
'time.';
