-- Job arrivals per hour (GPU jobs per trace)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: openb.times_from_first_pod
-- resolves_caveat: spot.durations_are_cut_off
-- chart: line x=hour_start_s y=jobs facet=trace partial=first,last with=whole_traces yname=jobs_per_hour title=Job arrivals per hour by trace (GPU jobs of all traces)
-- column: cluster: Cluster, or all
-- column: trace_cluster: Trace and cluster in one text
-- column: hour [no unit]: Hour on the clock of the trace, counted from 0
-- column: hour_start_s: Start of the hour on the clock of the trace
-- column: jobs: Jobs submitted in that hour
-- column: submitted_gpus: GPUs that submitted jobs request
-- column: with_submission_pct: Share of the jobs that are known to be submitted in the trace
create or replace macro unified.arrival_series(
    in_trace varchar := null,
    from_hour bigint := null,
    gpu_only boolean := true,
    -- count the jobs of all clusters of a trace together
    whole_traces boolean := false
) as table
-- A job that may have been submitted before the trace began has no known submission.
with jobs as (
    select
        trace,
        case when not whole_traces then cluster end as cluster,
        requested_gpus,
        cast(floor(case when not is_left_censored then submit_s end / 3600) as bigint) as hour
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and (not gpu_only or requested_gpus > 0)
),

coverage as (
    select
        trace,
        cluster,
        100.0 * count(hour) / count(*) as with_submission_pct
    from jobs
    group by trace, cluster
),

hourly as (
    select
        trace,
        cluster,
        hour,
        count(*) as jobs,
        stats.fsum(requested_gpus) as submitted_gpus
    from jobs
    where hour >= coalesce(from_hour, stats.first_hour(trace))
    group by trace, cluster, hour
),

hours as (
    select
        series.trace,
        series.cluster,
        number as hour
    from stats.number_range('hourly', { 'trace': trace, 'cluster': cluster }, hour)
)

select
    coverage.trace,
    coverage.cluster,
    concat_ws(' ', coverage.trace, coverage.cluster) as trace_cluster,
    hours.hour,
    3600 * hours.hour as hour_start_s,
    coalesce(hourly.jobs, 0) as jobs,
    coalesce(hourly.submitted_gpus, 0) as submitted_gpus,
    coverage.with_submission_pct
from hours
inner join coverage
    on hours.trace = coverage.trace and hours.cluster is not distinct from coverage.cluster
left join hourly
    on
        hours.trace = hourly.trace
        and hours.cluster is not distinct from hourly.cluster
        and hours.hour = hourly.hour
order by coverage.trace, coverage.cluster nulls first, hours.hour;

comment on macro table unified.arrival_series is
'Jobs submitted in each hour, per trace and cluster: from the hour of the first submission that counts to '
'that of the last, including hours without jobs. The trace may cover the first and the last hour only in '
'part. hour counts from the zero of the trace''s own clock and hour_start_s is its start in seconds; '
'submitted_gpus is the sum of the GPUs that the jobs of the hour request, including fractions. Jobs '
'submitted before from_hour, jobs without a submission and jobs that may have been submitted before the '
'trace began (spot, in the first second) are left out; with_submission_pct is the percentage of jobs of '
'the cluster with a submission in the trace.';
