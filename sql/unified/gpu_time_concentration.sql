-- GPU-hour share of the largest jobs (all traces)
-- chart: lorenz x=heaviest_pct y=top_gpu_time_pct color=trace with=every_pct xname=largest_jobs_pct yname=gpu_h_pct note=Largest: most GPU-hours held.
-- column: heaviest_pct: Percentage of GPU jobs that count as the largest
-- column: top_gpu_time_pct: Share of the GPU-hours held by the largest jobs
create or replace macro unified.gpu_time_concentration(
    -- percentage of GPU jobs that count as the largest
    top_pct double := 1,
    every_pct boolean := false,
    -- units that a confidence interval treats as independent: days or users [day user]
    sampled_by varchar := 'day',
    in_trace varchar := null
) as table
with cuts as (
    select unnest(generate_series(0, 100)) as heaviest_pct
    where every_pct
    union all
    select top_pct as heaviest_pct
    where not every_pct
),

jobs as (
    select
        trace,
        case sampled_by
            when 'user' then user_id
            else cast(cast(floor(submit_s / 86400) as bigint) as varchar)
        end as sampled,
        held_gpu_s,
        is_right_censored,
        is_left_censored
    from unified.jobs
    where (in_trace is null or trace = in_trace) and requested_gpus > 0
),

ranked as (
    select
        trace,
        sampled,
        held_gpu_s,
        row_number() over (partition by trace order by held_gpu_s desc nulls last) as held_rank,
        count(*) over (partition by trace) as gpu_jobs,
        ceil(count(*) over (partition by trace) * top_pct / 100) as top_jobs
    from jobs
),

-- Groups the jobs that enter the heaviest at the same percentage, to avoid a hundred rows per job.
parts as (
    select
        trace,
        case
            when every_pct then floor(100.0 * (held_rank - 1) / gpu_jobs) + 1
            when held_rank <= top_jobs then top_pct
            else 101
        end as from_pct,
        count(*) as gpu_jobs,
        stats.fsum(held_gpu_s) as held_gpu_s
    from ranked
    group by all
),

coverage as (
    select
        trace,
        100.0 * count(held_gpu_s) / count(*) as covered_pct,
        stats.censored_pct(is_right_censored, held_gpu_s) as censored_gpu_time_pct,
        stats.censored_pct(is_left_censored, held_gpu_s) as left_censored_gpu_time_pct
    from jobs
    group by trace
),

places as (
    select unnest([0.25, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0, 4.0]) as place
),

-- The GPU time of the largest jobs is the least value, over all limits, of the GPU time above the limit plus the number
-- of largest jobs times the limit. So a replicate ranks its jobs by nine limits near that of all jobs. For 1 and 10 % of
-- the jobs of ITP and openb, this exceeds the share by less than 0.1 percentage points; for 8 jobs, by up to 1.
limits as (
    select
        ranked.trace,
        places.place,
        1.0 * max(ranked.top_jobs) / max(ranked.gpu_jobs) as top_share,
        min(coalesce(ranked.held_gpu_s, 0)) as limit_gpu_s
    from ranked
    cross join places
    where ranked.held_rank <= greatest(ceil(ranked.top_jobs * places.place), 1)
    group by ranked.trace, places.place
),

above_limits as (
    select
        ranked.trace,
        ranked.sampled,
        limits.place,
        stats.fsum(ranked.held_gpu_s - limits.limit_gpu_s) as above_gpu_s
    from ranked
    inner join limits on ranked.trace = limits.trace and ranked.held_gpu_s > limits.limit_gpu_s
    group by ranked.trace, ranked.sampled, limits.place
),

sampled_jobs as (
    select
        trace,
        sampled,
        count(*) as gpu_jobs,
        stats.fsum(coalesce(held_gpu_s, 0)) as held_gpu_s
    from jobs
    where not every_pct
    group by trace, sampled
),

samples as ( -- noqa: ST03
    select
        units.trace,
        limits.place,
        units.sampled,
        units.held_gpu_s,
        coalesce(above_limits.above_gpu_s, 0)
        + units.gpu_jobs * limits.top_share * limits.limit_gpu_s as top_gpu_s
    from sampled_jobs as units
    inner join limits on units.trace = limits.trace
    left join above_limits
        on
            limits.trace = above_limits.trace
            and limits.place = above_limits.place
            and units.sampled is not distinct from above_limits.sampled
),

replicates as (
    select
        series.trace,
        replicate,
        min(share_pct) as share_pct
    from stats.share_replicates(
        'samples',
        { 'trace': trace, 'place': place },
        'unified.gpu_time_concentration ' || trace,
        sampled,
        top_gpu_s,
        held_gpu_s
    )
    where replicate > 0
    group by series.trace, replicate
    having min(units) >= 10 and min(known_pct) >= 95
),

intervals as (
    select
        trace,
        quantile_cont(share_pct, 0.025) as low_pct,
        quantile_cont(share_pct, 0.975) as high_pct
    from replicates
    group by trace
)

select
    parts.trace,
    cast(sum(parts.gpu_jobs) as bigint) as gpu_jobs,
    cast(cuts.heaviest_pct as double) as heaviest_pct,
    cast(ceil(sum(parts.gpu_jobs) * cuts.heaviest_pct / 100) as bigint) as top_jobs,
    100.0 * coalesce(stats.fsum(case when parts.from_pct <= cuts.heaviest_pct then parts.held_gpu_s end), 0)
    / nullif(stats.fsum(parts.held_gpu_s), 0) as top_gpu_time_pct,
    max(intervals.low_pct) as low_top_gpu_time_pct,
    max(intervals.high_pct) as high_top_gpu_time_pct,
    max(coverage.covered_pct) as covered_pct,
    max(coverage.censored_gpu_time_pct) as censored_gpu_time_pct,
    max(coverage.left_censored_gpu_time_pct) as left_censored_gpu_time_pct
from parts
cross join cuts
inner join coverage on parts.trace = coverage.trace
left join intervals on parts.trace = intervals.trace
group by parts.trace, cuts.heaviest_pct
order by parts.trace, cuts.heaviest_pct;

comment on macro table unified.gpu_time_concentration is
'GPU jobs per trace, the number of largest jobs (the given percentage, rounded up), and the percentage of '
'the GPU-hours that the jobs with the most GPU-hours held; percentage of jobs with known GPU-hours, and '
'percentages of these GPU-hours in jobs that the end and the beginning of the trace cut off. low_… and '
'high_… are the bounds of the 95 % confidence interval. A bootstrap draws the days on which jobs were '
'submitted, or the users, 2,000 times, and finds the largest jobs of each draw with the best of nine limits of '
'GPU-hours: for 1 % of the jobs of ITP and openb, its share is too high by less than 0.1 percentage points, '
'for the largest 8 jobs by up to 1. The bounds are NULL with fewer than ten days or users, where the trace '
'does not record them, and with every_pct.';
