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
with jobs as ( -- noqa: ST03
    select
        cluster,
        user_id,
        held_gpu_s
    from helios.standard_job
    where requested_gpus > 0
)

select
    series as cluster,
    users,
    heaviest_pct,
    top_users,
    top_jobs_pct,
    top_total_pct as top_gpu_h_pct,
    single_job_users
from stats.user_concentration('jobs', cluster, user_id, held_gpu_s, top_pct, every_pct)
order by cluster, heaviest_pct;

comment on macro table helios.user_concentration is 'Number of users with GPU jobs per cluster, number of heaviest users, share of GPU jobs of the users with the most jobs, share of GPU-hours of the users with the most GPU-hours, and users with a single GPU job.';
