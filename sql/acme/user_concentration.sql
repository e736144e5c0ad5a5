-- How much of Acme's GPU work is that of its heaviest users?
-- caveat: acme.paper_counts_more_jobs
-- param: top_pct: how many users count as the heaviest, in percent of the cluster's
-- range: top_pct: 0 to 100
-- chart: bar x=cluster y=top_gpu_h_pct
create or replace macro acme.user_concentration(top_pct double := 5) as table
with loads as (
    select
        cluster,
        user_id,
        count(*) as jobs,
        fsum(gpu_h) as gpu_h
    from acme.job
    where requested_gpus > 0 and user_id is not null
    group by cluster, user_id
),

ranked as (
    select
        cluster,
        jobs,
        gpu_h,
        row_number() over (partition by cluster order by jobs desc, user_id asc) as jobs_rank,
        row_number() over (partition by cluster order by gpu_h desc nulls last, user_id asc) as gpu_h_rank,
        ceil(count(*) over (partition by cluster) * top_pct / 100) as top_users
    from loads
)

select
    cluster,
    count(*) as users,
    cast(max(ranked.top_users) as bigint) as top_users,
    100.0 * coalesce(sum(jobs) filter (where jobs_rank <= ranked.top_users), 0)
    / nullif(sum(jobs), 0) as top_jobs_pct,
    100.0 * coalesce(fsum(gpu_h) filter (where gpu_h_rank <= ranked.top_users), 0)
    / nullif(fsum(gpu_h), 0) as top_gpu_h_pct,
    count(*) filter (where jobs = 1) as single_job_users
from ranked
group by cluster
order by cluster;

comment on macro table acme.user_concentration is 'Users with GPU jobs, the heaviest of them, the share of GPU jobs of those with the most jobs and of GPU time of those with the most GPU time, and the users with one GPU job.';
