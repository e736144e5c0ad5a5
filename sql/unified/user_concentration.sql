-- How much of a trace's GPU time is that of its heaviest users?
-- param: top_pct: how many users count as the heaviest by GPU time, in percent of those with GPU jobs
-- range: top_pct: 0 to 100
-- chart: bar x=trace y=top_gpu_time_pct
-- column: top_gpu_time_pct: Share of the GPU time held that the heaviest users held
create or replace macro unified.user_concentration(top_pct double := 5) as table
with loads as (
    select
        trace,
        user_id,
        count(*) as gpu_jobs,
        count(held_gpu_s) as covered_jobs,
        fsum(held_gpu_s) as held_gpu_s,
        fsum(held_gpu_s) filter (where is_censored) as censored_gpu_s
    from unified.jobs
    where requested_gpus > 0 and user_id is not null
    group by trace, user_id
),

ranked as (
    select
        trace,
        gpu_jobs,
        covered_jobs,
        held_gpu_s,
        censored_gpu_s,
        row_number() over (partition by trace order by held_gpu_s desc nulls last) as held_rank,
        ceil(count(*) over (partition by trace) * top_pct / 100) as top_users
    from loads
)

select
    trace,
    count(*) as users,
    cast(max(ranked.top_users) as bigint) as top_users,
    100.0 * coalesce(fsum(held_gpu_s) filter (where held_rank <= ranked.top_users), 0)
    / nullif(fsum(held_gpu_s), 0) as top_gpu_time_pct,
    100.0 * sum(covered_jobs) / sum(gpu_jobs) as covered_pct,
    100.0 * coalesce(fsum(censored_gpu_s), 0) / nullif(fsum(held_gpu_s), 0) as censored_gpu_time_pct
from ranked
group by trace
order by trace;

comment on macro table unified.user_concentration is 'Users with GPU jobs per trace that tells its users, how many of them are the given part, rounded up, and the percentage of the GPU time held by all that the heaviest held; one name on two clusters of a trace is one user. The percentage of their jobs that have a GPU time, and of that time the percentage of jobs that the trace''s end cuts off.';
