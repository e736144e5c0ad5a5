-- Tightness of generated deadlines (ITP jobs)
-- answers: deadline
-- column: tightness_from [ratio]: Lower bound of the bin of tightness
-- column: feasible_jobs: Jobs that would meet their deadline if they started at submission
-- chart: bar x=tightness_from y=jobs xname=time_to_deadline_over_run_time,_at_least note=Deadlines are in whole seconds, so that a few jobs are just below 0.5.
create or replace macro itp.deadline_tightness(
    -- width of a bin of tightness [0.001 to 100]
    bin_width double := 0.1
) as table
with binned as (
    select
        -- Without the rounding, a tightness of 0.6 falls into the bin below: 0.6 / 0.1 is 5.99….
        round(floor(round(tightness / bin_width, 9)) * bin_width, 9) as tightness_from,
        is_feasible_as_requested,
        gpu_h
    from itp.job
    where tightness is not null
)

select
    tightness_from,
    count(*) as jobs,
    count(*) filter (where is_feasible_as_requested) as feasible_jobs,
    stats.fsum(gpu_h) as gpu_h
from binned
group by tightness_from
order by tightness_from;

comment on macro table itp.deadline_tightness is 'Jobs per bin of tightness, which is the time to the deadline divided by the run time. A job with a tightness below 1 cannot meet its deadline on the GPUs it requested.';
