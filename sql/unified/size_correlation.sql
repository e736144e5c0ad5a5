-- Rank correlation with job size (GPU jobs of all traces)
-- chart: bar x=measure y=rank_correlation color=trace
-- column: measure: Quantity correlated with the size of the job: run_s, wait_s or failed
-- column: jobs: GPU jobs that have the measure
-- column: covered_pct: Share of the GPU jobs of the trace that have the measure
create or replace macro unified.size_correlation(preempted_fails boolean := false) as table
with measured as (
    select
        trace,
        'run_s' as measure,
        requested_gpus,
        run_s as value
    from unified.jobs
    where requested_gpus > 0 and run_s is not null
    union all
    select
        trace,
        'wait_s' as measure,
        requested_gpus,
        wait_s as value
    from unified.jobs
    where requested_gpus > 0 and wait_s is not null
    union all
    select
        trace,
        'failed' as measure,
        requested_gpus,
        case when status = 'failed' or (preempted_fails and status = 'preempted') then 1 else 0 end as value
    from unified.jobs
    where requested_gpus > 0 and status <> 'unknown'
),

traces as (
    select
        trace,
        count(*) as jobs
    from unified.jobs
    where requested_gpus > 0
    group by trace
),

-- Equal values share their mean rank.
ranked as (
    select
        trace,
        measure,
        rank() over (partition by trace, measure order by requested_gpus)
        + (count(*) over (partition by trace, measure, requested_gpus) - 1) / 2.0
        - (count(*) over (partition by trace, measure) + 1) / 2.0 as size_place,
        rank() over (partition by trace, measure order by value)
        + (count(*) over (partition by trace, measure, value) - 1) / 2.0
        - (count(*) over (partition by trace, measure) + 1) / 2.0 as value_place
    from measured
)

select
    ranked.trace,
    ranked.measure,
    count(*) as jobs,
    100.0 * count(*) / max(traces.jobs) as covered_pct,
    fsum(ranked.size_place * ranked.value_place)
    / nullif(
        sqrt(fsum(ranked.size_place * ranked.size_place) * fsum(ranked.value_place * ranked.value_place)), 0
    ) as rank_correlation
from ranked
inner join traces on ranked.trace = traces.trace
group by ranked.trace, ranked.measure
order by ranked.trace, ranked.measure;

comment on macro table unified.size_correlation is 'Spearman''s rank correlation of the GPUs that a job requests, over all its instances, with its run time, its queueing delay, and whether it failed, per trace, over GPU jobs that have a run time, a queueing delay, or a known outcome. 1 means that larger jobs always have larger values, 0 that size has no effect. covered_pct is their share of all GPU jobs of the trace; a correlation over few of them need not hold for all. Jobs with equal values share their mean rank. NULL where all values are equal.';
