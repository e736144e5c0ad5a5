-- How much of a trace's GPU time is that of its heaviest users?
-- param: top_pct: how many users count as the heaviest by GPU time, in percent of those with GPU jobs
-- range: top_pct: 0 to 100
-- chart: bar x=trace y=top_gpu_time_pct
create or replace macro unified.user_concentration(top_pct double := 5) as table
with loads as (
    select
        trace,
        user_id,
        fsum(gpu_s) as gpu_s
    from unified.jobs
    where requested_gpus > 0 and user_id is not null
    group by trace, user_id
),

ranked as (
    select
        trace,
        gpu_s,
        row_number() over (partition by trace order by gpu_s desc nulls last) as gpu_s_rank,
        ceil(count(*) over (partition by trace) * top_pct / 100) as top_users
    from loads
)

select
    trace,
    count(*) as users,
    cast(max(ranked.top_users) as bigint) as top_users,
    100.0 * coalesce(fsum(gpu_s) filter (where gpu_s_rank <= ranked.top_users), 0)
    / nullif(fsum(gpu_s), 0) as top_gpu_time_pct
from ranked
group by trace
order by trace;

comment on macro table unified.user_concentration is 'Users with GPU jobs per trace that tells its users, how many of them are the given part, rounded up, and the percentage of the GPU time of all that the heaviest took; one name on two clusters of a trace is one user.';
