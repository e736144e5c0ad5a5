-- Jobs and GPU-hours by final status (Philly jobs)
-- answers: final state
-- column: jobs_without_attempt [jobs]: Jobs without a recorded attempt
-- chart: bar x=published_status y=gpu_h_pct title=Share of GPU-hours by final status (Philly jobs)
create or replace macro philly.statuses() as table
with statuses as (
    select
        published_status,
        count(*) as jobs,
        count(*) filter (where attempts = 0) as jobs_without_attempt,
        stats.fsum(held_gpu_s) / 3600.0 as gpu_h
    from philly.job_run
    group by published_status
)

select
    published_status,
    statuses.jobs,
    100.0 * statuses.jobs / sum(statuses.jobs) over () as jobs_pct,
    jobs_without_attempt,
    statuses.gpu_h,
    100.0 * statuses.gpu_h / nullif(sum(stats.exact(statuses.gpu_h)) over (), 0) as gpu_h_pct
from statuses
order by statuses.jobs desc, published_status asc;

comment on macro table philly.statuses is 'Jobs and the GPU-hours of all their attempts per status, and the percentages of the total.';
