-- Job arrivals by day of the week (GPU jobs of all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: pai.gpu_counts_are_fractions
-- chart: line x=weekday y=jobs_per_day color=trace note=Traces without a known time zone are left out.
-- column: weekday [no unit]: Day of the week at the location of the cluster, 1 Monday to 7 Sunday
-- column: days [days]: Number of such days from the first to the last submission
-- column: jobs: Jobs submitted on that day of the week; only GPU jobs if gpu_only is true
-- column: jobs_per_day [jobs per day]: Jobs submitted per day
create or replace macro unified.weekday_profile(
    gpu_only boolean := true, in_trace varchar := null
) as table
with counted as (
    select
        trace,
        weekday,
        count(*) as jobs,
        cast(floor(min(local_submit_s) / 86400) as bigint) as first_day,
        cast(floor(max(local_submit_s) / 86400) as bigint) as last_day
    from unified.jobs
    where
        stats.is_chosen(trace, in_trace)
        and weekday is not null and (not gpu_only or requested_gpus > 0)
    group by trace, weekday
),

spans as (
    select
        trace,
        sum(jobs) as jobs,
        min(first_day) as first_day,
        max(last_day) as last_day
    from counted
    group by trace
),

weekdays as (
    select unnest(generate_series(1, 7)) as weekday
),

-- Weekdays up to the last day, less those before the first. Day 0 was a Thursday, so day -3 was a Monday.
covered as (
    select
        spans.trace,
        spans.jobs,
        weekdays.weekday,
        cast(
            floor((spans.last_day + 4 - weekdays.weekday) / 7.0)
            - floor((spans.first_day + 3 - weekdays.weekday) / 7.0) as bigint
        ) as days
    from spans
    cross join weekdays
)

select
    covered.trace,
    covered.weekday,
    covered.days,
    coalesce(counted.jobs, 0) as jobs,
    coalesce(counted.jobs, 0) / nullif(covered.days, 0) as jobs_per_day,
    100.0 * coalesce(counted.jobs, 0) / nullif(covered.jobs, 0) as jobs_pct
from covered
left join counted on covered.trace = counted.trace and covered.weekday = counted.weekday
where covered.days > 0
order by covered.trace, covered.weekday;

comment on macro table unified.weekday_profile is
'Jobs (if gpu_only is true, only those that request a GPU) per day of the week at the location of the '
'cluster (1 Monday to 7 Sunday): number of such days from the first submission to the last, counting the '
'first and the last day as whole days, jobs submitted on them, jobs per such day, and their share of '
'these jobs of the trace. Traces whose clock does not give the weekday and jobs without a submission are '
'left out.';
