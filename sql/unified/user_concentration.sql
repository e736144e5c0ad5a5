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
with jobs as (
    select
        trace,
        user_id,
        held_gpu_s,
        is_right_censored,
        is_left_censored
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and requested_gpus > 0 and user_id is not null
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

shares as (
    select
        series as trace,
        users,
        heaviest_pct,
        top_users,
        top_total_pct
    from stats.user_concentration('jobs', trace, user_id, held_gpu_s, top_pct, every_pct)
)

select
    shares.trace,
    shares.users,
    shares.heaviest_pct,
    shares.top_users,
    shares.top_total_pct as top_gpu_time_pct,
    coverage.covered_pct,
    coverage.censored_gpu_time_pct,
    coverage.left_censored_gpu_time_pct
from shares
inner join coverage on shares.trace = coverage.trace
order by shares.trace, shares.heaviest_pct;

comment on macro table unified.user_concentration is
'Number of users with GPU jobs per trace that records users, number of heaviest users (the given '
'percentage, rounded up), and the percentage of all GPU-hours that they held. The same name on two '
'clusters of a trace is one user. covered_pct is the percentage of their jobs with known GPU-hours; '
'censored_gpu_time_pct and left_censored_gpu_time_pct are the percentages of these GPU-hours in jobs that '
'the end and the beginning of the trace cut off.';
