-- Turnaround and bounded slowdown by size (GPU jobs per trace)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- chart: point x=trace y=p90_bounded_slowdown least=1 color=size_band note=Colours: bands of requested GPUs. Slowdown: turnaround over run time (of at least {bound_s} s); 1 is no wait. Traces without recorded waits have no marks. title=90th percentile of bounded slowdown by size (all traces)
-- column: jobs: GPU jobs of the band, in traces where some turnaround is known
-- column: covered_pct: Share of the jobs whose queueing delay and run time are both known
-- column: censored_pct: Share of the jobs that the end of the trace cuts off
-- column: turnaround_s: Time from submission to end
-- column: bounded_slowdown [ratio]: Queueing delay plus run time over the run time, where short runs count as bound_s; at least 1
create or replace macro unified.turnaround_by_size(
    in_trace varchar := null,
    -- run times below this count as this long in the slowdown, in seconds [0.001 to 86400]
    bound_s double := 10
) as table
with measured as (
    select
        trace,
        size_band,
        requested_gpus,
        is_right_censored,
        run_s,
        wait_s + run_s as turnaround_s
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0
),

-- `greatest` ignores a missing value.
slowed as (
    select
        trace,
        size_band,
        requested_gpus,
        is_right_censored,
        turnaround_s,
        case
            when turnaround_s is not null then greatest(1.0, turnaround_s / greatest(run_s, bound_s))
        end as bounded_slowdown
    from measured
),

counted as (
    select
        trace,
        size_band,
        min(requested_gpus) as least_gpus,
        count(*) as jobs,
        count(turnaround_s) as covered_jobs,
        stats.censored_pct(is_right_censored, 1) as censored_pct,
        stats.percentiles(turnaround_s) as turnaround_s,
        stats.percentiles(bounded_slowdown) as bounded_slowdown,
        stats.favg(bounded_slowdown) as mean_bounded_slowdown
    from slowed
    group by trace, size_band
)

select
    trace,
    size_band,
    jobs,
    100.0 * covered_jobs / jobs as covered_pct,
    censored_pct,
    turnaround_s.median as median_turnaround_s,
    turnaround_s.p90 as p90_turnaround_s,
    bounded_slowdown.median as median_bounded_slowdown,
    mean_bounded_slowdown,
    bounded_slowdown.p90 as p90_bounded_slowdown
from counted
qualify sum(covered_jobs) over (partition by trace) > 0
order by trace, least_gpus;

comment on macro table unified.turnaround_by_size is
'GPU jobs per trace and band of all GPUs that a job requests. The turnaround (job completion time, JCT) is '
'the time from submission to end: queueing delay plus run time. The bounded slowdown is the turnaround divided by the run time, '
'where run times below bound_s count as bound_s, and at least 1 (Feitelson and Rudolph, 1998). jobs counts '
'all GPU jobs of the band, covered_pct is the percentage whose queueing delay and run time are both known, '
'and only these are in the other figures: jobs that never started, that began before the trace or that the '
'end of the trace cuts off are missing, which as a rule are the longest. censored_pct is the percentage of '
'jobs that were still running when last seen, NULL if the trace does not record it. A band without a '
'covered job has NULLs; a trace without one, such as ITP, has no rows.';
