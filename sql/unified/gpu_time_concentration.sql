-- GPU-hour share of the largest jobs (all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: openb.deletion_never_empty
-- resolves_caveat: openb.times_from_first_pod
-- resolves_caveat: pai.empty_start_is_waiting
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: philly.log_has_no_zone
-- chart: lorenz x=heaviest_pct y=top_gpu_time_pct color=trace with=every_pct xname=largest_jobs_pct yname=gpu_h_pct note=Largest: GPU jobs that held the most GPU-hours. title=GPU-hour share of the largest jobs (GPU jobs per trace)
-- column: gpu_jobs: Jobs that request a GPU or a part of one
-- column: heaviest_pct: Percentage of GPU jobs that count as the largest
-- column: top_jobs: Number of largest jobs
-- column: top_gpu_time_pct: Share of the GPU-hours held by the largest jobs
-- column: low_top_gpu_time_pct: Lower bound of the 95 % confidence interval of top_gpu_time_pct
-- column: high_top_gpu_time_pct: Upper bound of the 95 % confidence interval of top_gpu_time_pct
-- column: effective_units [units]: Equally large days, users or owners that would tell as much of the bounded share or percentile, whose bounds need ten
-- column: covered_pct: Share of the jobs for which the quantity is known
-- column: censored_gpu_time_pct: Share of the GPU-hours in jobs that the end of the trace cuts off
-- column: left_censored_gpu_time_pct: Share of the GPU-hours in jobs that the beginning of the trace cuts off
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
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0
),

-- Many jobs held the same.
by_gpu_time as (
    select
        trace,
        held_gpu_s,
        count(*) as jobs
    from jobs
    group by trace, held_gpu_s
),

ranked as (
    select
        trace,
        held_gpu_s,
        jobs,
        sum(jobs) over (partition by trace) as gpu_jobs,
        sum(jobs) over larger - jobs as larger_jobs,
        sum(stats.exact(coalesce(held_gpu_s * jobs, 0))) over larger - coalesce(held_gpu_s * jobs, 0)
            as larger_gpu_s
    from by_gpu_time
    window larger as (
        partition by trace
        order by held_gpu_s desc nulls last
        rows between unbounded preceding and current row
    )
),

totals as (
    select
        trace,
        max(gpu_jobs) as gpu_jobs,
        stats.fsum(held_gpu_s * jobs) as held_gpu_s
    from ranked
    group by trace
),

tops as (
    select
        totals.trace,
        totals.gpu_jobs,
        totals.held_gpu_s,
        cuts.heaviest_pct,
        ceil(totals.gpu_jobs * cuts.heaviest_pct / 100) as top_jobs
    from totals
    cross join cuts
),

-- limit_gpu_s: what the smallest of the largest jobs held, which other jobs may have held too.
limits as (
    select
        tops.*,
        coalesce(ranked.held_gpu_s, 0) as limit_gpu_s,
        coalesce(
            ranked.larger_gpu_s + (tops.top_jobs - ranked.larger_jobs) * coalesce(ranked.held_gpu_s, 0), 0
        ) as top_gpu_s
    from tops
    left join ranked
        on
            tops.trace = ranked.trace
            and tops.top_jobs > ranked.larger_jobs
            and tops.top_jobs <= ranked.larger_jobs + ranked.jobs
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

single_limits as (
    select
        trace,
        limit_gpu_s,
        top_jobs / gpu_jobs as top_share
    from limits
    where not every_pct
),

-- A day with one job more has more of the largest jobs, too.
samples as ( -- noqa: ST03
    select
        jobs.trace,
        jobs.sampled,
        stats.fsum(coalesce(jobs.held_gpu_s, 0)) as held_gpu_s,
        stats.fsum(
            greatest(coalesce(jobs.held_gpu_s, 0) - limits.limit_gpu_s, 0)
            + limits.top_share * limits.limit_gpu_s
        ) as top_gpu_s
    from jobs
    inner join single_limits as limits on jobs.trace = limits.trace
    group by jobs.trace, jobs.sampled
),

intervals as (
    select
        series as trace,
        low_pct,
        high_pct,
        effective_units
    from stats.share_interval('samples', trace, sampled, top_gpu_s, held_gpu_s)
)

select
    limits.trace,
    cast(limits.gpu_jobs as bigint) as gpu_jobs,
    cast(limits.heaviest_pct as double) as heaviest_pct,
    cast(limits.top_jobs as bigint) as top_jobs,
    100.0 * limits.top_gpu_s / nullif(limits.held_gpu_s, 0) as top_gpu_time_pct,
    intervals.low_pct as low_top_gpu_time_pct,
    intervals.high_pct as high_top_gpu_time_pct,
    intervals.effective_units,
    coverage.covered_pct,
    coverage.censored_gpu_time_pct,
    coverage.left_censored_gpu_time_pct
from limits
inner join coverage on limits.trace = coverage.trace
left join intervals on limits.trace = intervals.trace
order by limits.trace, limits.heaviest_pct;

comment on macro table unified.gpu_time_concentration is
'GPU jobs per trace, the number of largest jobs (the given percentage, rounded up), and the percentage of '
'the GPU-hours that the jobs with the most GPU-hours held; percentage of jobs with known GPU-hours, and '
'percentages of these GPU-hours in jobs that the end and the beginning of the trace cut off. low_… and '
'high_… are the bounds of the 95 % confidence interval, if the days on which jobs were submitted, '
'or the users, are a sample of similar ones. effective_units: the number of equally large days or users that would tell as much; '
'with fewer than ten the bounds are NULL, and NULL where the trace does not record them and with every_pct.';
