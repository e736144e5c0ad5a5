-- GPU-hour share of the heaviest users (all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: asi.standby_counts_twice
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: philly.gpus_are_those_used
-- chart: lorenz x=heaviest_pct y=top_gpu_time_pct color=trace with=every_pct xname=heaviest_users_pct yname=gpu_h_pct note=Traces without users are left out.
-- column: heaviest_pct: Percentage of users that count as the heaviest
-- column: top_users: Number of heaviest users
-- column: top_gpu_time_pct: Share of the GPU-hours held by the heaviest users
-- column: covered_pct: Share of the jobs for which the quantity is known
-- column: censored_gpu_time_pct: Share of the GPU-hours in jobs that the end of the trace cuts off
-- column: left_censored_gpu_time_pct: Share of the GPU-hours in jobs that the beginning of the trace cuts off
create or replace macro unified.user_concentration(
    top_pct double := 5, every_pct boolean := false, in_trace varchar := null
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
        user_id,
        held_gpu_s,
        is_right_censored,
        is_left_censored
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0 and user_id is not null
),

loads as (
    select
        trace,
        user_id,
        stats.fsum(held_gpu_s) as held_gpu_s
    from jobs
    group by trace, user_id
),

ranked as (
    select
        trace,
        held_gpu_s,
        row_number() over (partition by trace order by held_gpu_s desc nulls last) as held_rank,
        count(*) over (partition by trace) as users
    from loads
),

coverage as (
    select
        trace,
        100.0 * count(held_gpu_s) / count(*) as covered_pct,
        stats.censored_pct(is_right_censored, held_gpu_s) as censored_gpu_time_pct,
        stats.censored_pct(is_left_censored, held_gpu_s) as left_censored_gpu_time_pct
    from jobs
    group by trace
)

select
    ranked.trace,
    count(*) as users,
    cast(cuts.heaviest_pct as double) as heaviest_pct,
    cast(ceil(count(*) * cuts.heaviest_pct / 100) as bigint) as top_users,
    100.0
    * coalesce(
        stats.fsum(
            case
                when ranked.held_rank <= ceil(ranked.users * cuts.heaviest_pct / 100) then ranked.held_gpu_s
            end
        ), 0
    )
    / nullif(stats.fsum(ranked.held_gpu_s), 0) as top_gpu_time_pct,
    max(coverage.covered_pct) as covered_pct,
    max(coverage.censored_gpu_time_pct) as censored_gpu_time_pct,
    max(coverage.left_censored_gpu_time_pct) as left_censored_gpu_time_pct
from ranked
cross join cuts
inner join coverage on ranked.trace = coverage.trace
group by ranked.trace, cuts.heaviest_pct
order by ranked.trace, cuts.heaviest_pct;

comment on macro table unified.user_concentration is
'Number of users with GPU jobs per trace that records users, number of heaviest users (the given '
'percentage, rounded up), and the percentage of all GPU-hours that they held. The same name on two '
'clusters of a trace is one user. covered_pct is the percentage of their jobs with known GPU-hours; '
'censored_gpu_time_pct and left_censored_gpu_time_pct are the percentages of these GPU-hours in jobs that '
'the end and the beginning of the trace cut off.';
