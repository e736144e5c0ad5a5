-- Rank correlation with job size (GPU jobs of all traces)
-- param: preempted_fails: count a preempted job as failed
-- chart: bar x=measure y=rank_correlation color=trace
-- column: measure: What is set against the size of a job: run_s, wait_s, or failed
-- column: jobs: GPU jobs that have the measure
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

-- Equal values share the mean of their places.
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
    trace,
    measure,
    count(*) as jobs,
    fsum(size_place * value_place)
    / nullif(sqrt(fsum(size_place * size_place) * fsum(value_place * value_place)), 0) as rank_correlation
from ranked
group by trace, measure
order by trace, measure;

comment on macro table unified.size_correlation is 'Spearman''s rank correlation of the GPUs that a job requests, all instances together, with its run, its wait, and whether it failed, per trace: over its GPU jobs that have a run, that have a wait, whose outcome is known. 1 where the larger job always has the larger value, 0 where size tells nothing; jobs of equal values share the mean of their places. NULL where all of them are alike.';
