-- Jobs and GPU-hours by final status (Philly jobs)
-- chart: bar x=published_status y=gpu_h_pct
create or replace macro philly.statuses() as table
with statuses as (
    select
        published_status,
        count(*) as jobs,
        count(*) filter (where attempts = 0) as jobs_without_attempt,
        fsum(held_gpu_s) / 3600.0 as gpu_h
    from philly.job_run
    group by published_status
),

with_totals as (
    select
        published_status,
        jobs,
        jobs_without_attempt,
        gpu_h,
        sum(jobs) over () as all_jobs,
        fsum(gpu_h) over () as all_gpu_h
    from statuses
)

select
    published_status,
    jobs,
    100.0 * jobs / all_jobs as jobs_pct,
    jobs_without_attempt,
    gpu_h,
    100.0 * gpu_h / nullif(all_gpu_h, 0) as gpu_h_pct
from with_totals
order by jobs desc, published_status asc;

comment on macro table philly.statuses is 'Jobs and the GPU-hours of all their attempts per status, and the percentages of the total.';
