-- Rank correlation with job size (GPU jobs of all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: spot.no_start
-- chart: point x=measure y=rank_correlation color=trace xname=correlated_quantity yname=rank_correlation_with_the_job_size note=Spearman: 1 if larger jobs always have larger values, 0 if size has no effect. A quantity without a mark is not recorded, or all jobs of the trace have one size.
-- column: measure: Quantity correlated with the size of the job: run time, queueing delay or failed
-- column: jobs: GPU jobs that have the measure
-- column: covered_pct: Share of the GPU jobs of the trace that have the measure
-- column: rank_correlation [ratio]: Spearman's rank correlation with the number of requested GPUs
create or replace macro unified.size_correlation(
    preempted_fails boolean := false, in_trace varchar := null
) as table
with jobs as (
    select
        trace,
        requested_gpus,
        run_s,
        wait_s,
        status
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0
),

measured as (
    select
        trace,
        'run time' as measure,
        requested_gpus,
        run_s as value
    from jobs
    where run_s is not null
    union all
    select
        trace,
        'queueing delay' as measure,
        requested_gpus,
        wait_s as value
    from jobs
    where wait_s is not null
    union all
    select
        trace,
        'failed' as measure,
        requested_gpus,
        case when status = 'failed' or (preempted_fails and status = 'preempted') then 1 else 0 end as value
    from jobs
    where status <> 'unknown'
),

traces as (
    select
        trace,
        count(*) as jobs
    from jobs
    group by trace
),

pairs as (
    select
        trace,
        measure,
        requested_gpus,
        value,
        count(*) as jobs
    from measured
    group by trace, measure, requested_gpus, value
),

jobs_by_size as (
    select
        trace,
        measure,
        requested_gpus,
        sum(jobs) as jobs
    from pairs
    group by trace, measure, requested_gpus
),

jobs_by_value as (
    select
        trace,
        measure,
        value,
        sum(jobs) as jobs
    from pairs
    group by trace, measure, value
),

-- The distance of a rank from the mean rank. Jobs with equal values share their mean rank.
sizes as (
    select
        trace,
        measure,
        requested_gpus,
        sum(jobs) over (partition by trace, measure order by requested_gpus)
        - (jobs + sum(jobs) over (partition by trace, measure)) / 2.0 as place
    from jobs_by_size
),

measures as (
    select
        trace,
        measure,
        value,
        sum(jobs) over (partition by trace, measure order by value)
        - (jobs + sum(jobs) over (partition by trace, measure)) / 2.0 as place
    from jobs_by_value
),

placed as (
    select
        pairs.trace,
        pairs.measure,
        pairs.jobs,
        sizes.place as size_place,
        measures.place as value_place
    from pairs
    inner join sizes
        on
            pairs.trace = sizes.trace
            and pairs.measure = sizes.measure
            and pairs.requested_gpus = sizes.requested_gpus
    inner join measures
        on pairs.trace = measures.trace and pairs.measure = measures.measure and pairs.value = measures.value
)

select
    placed.trace,
    placed.measure,
    cast(sum(placed.jobs) as bigint) as jobs,
    100.0 * sum(placed.jobs) / max(traces.jobs) as covered_pct,
    stats.fsum(placed.jobs * placed.size_place * placed.value_place)
    / nullif(
        sqrt(
            stats.fsum(placed.jobs * placed.size_place * placed.size_place)
            * stats.fsum(placed.jobs * placed.value_place * placed.value_place)
        ),
        0
    ) as rank_correlation
from placed
inner join traces on placed.trace = traces.trace
group by placed.trace, placed.measure
order by placed.trace, placed.measure;

comment on macro table unified.size_correlation is
'Spearman''s rank correlation of the GPUs that a job requests, over all its instances, with its run time, '
'its queueing delay, and whether it failed, per trace, over GPU jobs that have a run time, a queueing '
'delay, or a known outcome. 1 means that larger jobs always have larger values, 0 that size has no '
'effect. covered_pct is their share of all GPU jobs of the trace; a correlation over few of them need not '
'hold for all. Jobs with equal values share their mean rank. NULL where all values are equal.';
