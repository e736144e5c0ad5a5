-- Which share of each cluster's jobs fails, and of its GPU time?
-- chart: bar x=trace y=failed_pct color=cluster
create or replace macro unified.failure_share() as table
with counted as (
    select
        trace,
        cluster,
        count(*) filter (where status <> 'unknown') as known_jobs,
        count(*) filter (where status = 'failed') as failed_jobs,
        count(*) filter (where status = 'cancelled') as cancelled_jobs,
        fsum(gpu_s) filter (where status <> 'unknown') as known_gpu_s,
        fsum(gpu_s) filter (where status = 'failed') as failed_gpu_s
    from unified.jobs
    group by trace, cluster
)

select
    trace,
    cluster,
    counted.known_jobs,
    100.0 * failed_jobs / nullif(counted.known_jobs, 0) as failed_pct,
    100.0 * cancelled_jobs / nullif(counted.known_jobs, 0) as cancelled_pct,
    100.0 * coalesce(failed_gpu_s, 0) / nullif(known_gpu_s, 0) as failed_gpu_time_pct
from counted
order by trace, cluster nulls first;

comment on macro table unified.failure_share is 'Jobs of known outcome per cluster, with and without GPUs, the percentages that failed and were cancelled, and of their GPU time the percentage in failed jobs; NULL where no outcome is known.';
