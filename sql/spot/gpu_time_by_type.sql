-- GPU-hours by GPU model and job type (spot jobs)
-- chart: stack x=gpu_model y=gpu_h color=job_type
-- column: jobs: Jobs of the type that request the model
create or replace macro spot.gpu_time_by_type() as table
with types as (
    select
        gpu_model,
        job_type,
        count(*) as jobs,
        count(distinct organization) as organizations,
        fsum(gpu_h) as gpu_h
    from spot.job_demand
    group by gpu_model, job_type
),

with_totals as (
    select
        gpu_model,
        job_type,
        jobs,
        organizations,
        gpu_h,
        sum(jobs) over () as all_jobs,
        fsum(gpu_h) over () as all_gpu_h
    from types
)

select
    gpu_model,
    job_type,
    jobs,
    100.0 * jobs / all_jobs as jobs_pct,
    organizations,
    gpu_h,
    100.0 * gpu_h / nullif(all_gpu_h, 0) as gpu_h_pct
from with_totals
order by gpu_model, job_type;

comment on macro table spot.gpu_time_by_type is 'Jobs, organisations that pay for them and GPU-hours, per requested GPU model and type of job, and the percentages of the total.';
