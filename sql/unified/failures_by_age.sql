-- Failures by run time until the failure (GPU jobs per trace)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: asi.standby_counts_twice
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: openb.deletion_never_empty
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.status_mix_drifts
-- chart: bar x=within_s y=failed_within_pct color=trace xname=ended_within_s yname=failures_pct note=Share of the failed jobs whose run time is known. title=Share of failures within 1, 10 and 60 minutes (GPU jobs per trace)
-- column: within_s: Longest run time of a failed job that counts
-- column: failed_jobs: Jobs that failed
-- column: covered_pct: Share of the failed jobs whose run time is known
-- column: failed_within_pct: Share of the covered failed jobs that ran at most this long
-- column: lost_gpu_h: GPU-hours held by failed jobs that ran at most this long
-- column: lost_gpu_h_pct: Share of the GPU-hours of covered failed jobs
create or replace macro unified.failures_by_age(
    in_trace varchar := null,
    preempted_fails boolean := false
) as table
with ages as (
    select unnest([60, 600, 3600]) as within_s
),

failures as (
    select
        trace,
        run_s,
        case when run_s is not null then held_gpu_s end as held_gpu_s
    from unified.jobs
    where
        stats.is_chosen(trace, in_trace)
        and requested_gpus > 0
        and (status = 'failed' or (preempted_fails and status = 'preempted'))
),

counted as (
    select
        failures.trace,
        ages.within_s,
        count(*) as failed_jobs,
        count(failures.run_s) as covered_jobs,
        count(*) filter (where failures.run_s <= ages.within_s) as failed_within_jobs,
        stats.fsum(failures.held_gpu_s) as covered_gpu_s,
        coalesce(
            stats.fsum(case when failures.run_s <= ages.within_s then failures.held_gpu_s end), 0
        ) as lost_gpu_s
    from failures
    cross join ages
    group by failures.trace, ages.within_s
)

select
    trace,
    within_s,
    failed_jobs,
    100.0 * covered_jobs / failed_jobs as covered_pct,
    100.0 * failed_within_jobs / nullif(covered_jobs, 0) as failed_within_pct,
    case when covered_gpu_s is not null then lost_gpu_s / 3600.0 end as lost_gpu_h,
    100.0 * lost_gpu_s / nullif(covered_gpu_s, 0) as lost_gpu_h_pct
from counted
order by trace, within_s;

comment on macro table unified.failures_by_age is
'Failed GPU jobs per trace that ran at most 1, 10 and 60 minutes; each row includes those of the rows '
'above it. failed_jobs are all failed GPU jobs of the trace, with preempted_fails also the preempted ones, '
'and covered_pct is the percentage whose run time is known; only these are in the other figures. '
'failed_within_pct is the percentage that failed within within_s of their start, lost_gpu_h the GPU-hours '
'that these held, and lost_gpu_h_pct their share of the GPU-hours of all covered failed jobs. NULL where '
'no failed job has a known run time or GPU-hours. Failed jobs that began before the trace have no run '
'time, and are missing. A trace that records no failures has no rows.';
