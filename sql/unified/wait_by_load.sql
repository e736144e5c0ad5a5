-- Queueing delay by load at submission (GPU jobs per trace)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.delays_below_a_day
-- resolves_caveat: asi.lives_in_whole_hours
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: asi.standby_counts_twice
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: openb.pending_has_no_schedule
-- resolves_caveat: openb.times_from_first_pod
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: philly.log_has_no_zone
-- chart: line x=load_band_start_pct y=immediate_pct color=cluster facet=trace yname=jobs_that_start_within_a_minute_pct xname=load_at_submission_pct note=Bands of ten percent of the held GPUs in the hour before. Traces without waits or a capacity are left out. title=Jobs that start within a minute by load at submission (all traces)
-- column: load_band_start_pct: Start of a band of ten percent of the load at submission, 100 for a full cluster
-- column: jobs: Jobs with a known load at submission that were observed to wait
-- column: median_load_pct: Median held GPUs in percent of the capacity, in the hour before that of the submission
-- column: started_pct: Share of the jobs that started
-- column: immediate_pct: Share of the jobs that started within 60 s
-- column: unknown_pct: Share of the GPU jobs for which the quantity is unknown
create or replace macro unified.wait_by_load(in_trace varchar := null) as table
with loads as (
    select
        trace,
        cluster,
        hour,
        100.0 * held_gpus / nullif(capacity_gpus, 0) as load_pct
    from unified.allocation_hour
    where stats.is_chosen(trace, in_trace) and is_by_partition = false and is_offered = false
),

-- The hour before that of the submission, which the job itself does not change.
submitted as (
    select
        trace,
        cluster,
        cast(floor(submit_s / 3600) as bigint) - 1 as hour_before,
        wait_s,
        observed_wait_s
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0
),

banded as (
    select
        submitted.trace,
        submitted.cluster,
        submitted.wait_s,
        loads.load_pct,
        -- Rounding removes errors of sums of fractions.
        case
            when submitted.observed_wait_s is not null and loads.load_pct is not null
                then least(10 * floor(round(loads.load_pct, 6) / 10), 100)
        end as load_band_start_pct
    from submitted
    left join loads
        on
            submitted.trace = loads.trace
            and submitted.cluster is not distinct from loads.cluster
            and submitted.hour_before = loads.hour
),

counted as (
    select
        trace,
        cluster,
        load_band_start_pct,
        count(*) as jobs,
        median(load_pct) as median_load_pct,
        count(wait_s) as started_jobs,
        count(*) filter (where wait_s <= 60) as immediate_jobs,
        stats.percentiles(wait_s) as wait_s
    from banded
    group by trace, cluster, load_band_start_pct
),

compared as (
    select
        *,
        100.0 * sum(case when load_band_start_pct is null then jobs else 0 end) over of_cluster
        / sum(jobs) over of_cluster as unknown_pct
    from counted
    window of_cluster as (partition by trace, cluster)
)

select
    trace,
    cluster,
    load_band_start_pct,
    jobs,
    median_load_pct,
    100.0 * started_jobs / jobs as started_pct,
    100.0 * immediate_jobs / jobs as immediate_pct,
    wait_s.median as median_wait_s,
    wait_s.p90 as p90_wait_s,
    unknown_pct
from compared
where load_band_start_pct is not null
order by trace, cluster nulls first, load_band_start_pct;

comment on macro table unified.wait_by_load is
'Queueing delay of GPU jobs by the load of their cluster when they were submitted: the GPUs that jobs held '
'in percent of the capacity, mean over the clock hour before the hour of the submission, as in '
'unified.allocation_hourly. load_band_start_pct is the start of a band of ten percent; 100 is a cluster '
'that is full or more than full. jobs are the jobs with a known load and an observed wait; started_pct is '
'the percentage of these that started; the others were withdrawn. immediate_pct is the percentage that '
'started within 60 s. median_wait_s and p90_wait_s are of started jobs only, so they are too low where '
'started_pct is below 100. unknown_pct is the percentage of the GPU jobs of the trace and cluster that are '
'in no band, because their load or their wait is not known. The load does not say whether the free GPUs '
'fit the job. A cluster without a known capacity or without recorded waits has no rows.';
