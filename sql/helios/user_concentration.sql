-- GPU-hour share of the heaviest users (Helios GPU jobs)
-- answers: user
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- chart: lorenz x=heaviest_pct y=top_gpu_h_pct color=cluster with=every_pct yname=GPU-hours_of_these_users_pct xname=heaviest_users_pct
-- column: users: Users with a GPU job
-- column: heaviest_pct: Percentage of users that count as the heaviest
-- column: top_users: Number of heaviest users
-- column: top_jobs_pct: Share of the GPU jobs of the users with the most jobs
-- column: top_gpu_h_pct: Share of the GPU-hours held by the heaviest
-- column: single_job_users: Users with a single GPU job
create or replace macro helios.user_concentration(
    top_pct double := 5, every_pct boolean := false
) as table
with cuts as (
    select unnest(generate_series(0, 100)) as heaviest_pct
    where every_pct
    union all
    select top_pct as heaviest_pct
    where not every_pct
),

loads as (
    select
        cluster,
        user_id,
        count(*) as jobs,
        stats.fsum(held_gpu_s) as gpu_s
    from helios.standard_job
    where requested_gpus > 0 and user_id is not null
    group by cluster, user_id
),

ranked as (
    select
        cluster,
        jobs,
        gpu_s,
        row_number() over (partition by cluster order by jobs desc, user_id asc) as jobs_rank,
        row_number() over (partition by cluster order by gpu_s desc nulls last, user_id asc) as gpu_s_rank,
        count(*) over (partition by cluster) as users
    from loads
),

counted as (
    select
        ranked.cluster,
        ranked.jobs,
        ranked.gpu_s,
        ranked.jobs_rank,
        ranked.gpu_s_rank,
        cuts.heaviest_pct,
        ceil(ranked.users * cuts.heaviest_pct / 100) as top_users
    from ranked
    cross join cuts
)

select
    cluster,
    count(*) as users,
    cast(heaviest_pct as double) as heaviest_pct,
    cast(max(counted.top_users) as bigint) as top_users,
    100.0 * coalesce(sum(jobs) filter (where jobs_rank <= counted.top_users), 0)
    / nullif(sum(jobs), 0) as top_jobs_pct,
    100.0 * coalesce(stats.fsum(case when gpu_s_rank <= counted.top_users then gpu_s end), 0)
    / nullif(stats.fsum(gpu_s), 0) as top_gpu_h_pct,
    count(*) filter (where jobs = 1) as single_job_users
from counted
group by cluster, counted.heaviest_pct
order by cluster, counted.heaviest_pct;

comment on macro table helios.user_concentration is 'Number of users with GPU jobs per cluster, number of heaviest users, share of GPU jobs of the users with the most jobs, share of GPU-hours of the users with the most GPU-hours, and users with a single GPU job.';
