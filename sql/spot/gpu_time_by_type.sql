-- GPU-hours by GPU model and job type (spot jobs)
-- chart: stack x=gpu_model y=gpu_h color=job_type note=HP: high priority.
-- column: jobs: Jobs of the type that request the model
-- column: organizations [organizations]: Organisations that pay for jobs
create or replace macro spot.gpu_time_by_type() as table
with types as (
    select
        gpu_model,
        job_type,
        count(*) as jobs,
        count(distinct organization) as organizations,
        stats.fsum(gpu_h) as gpu_h
    from spot.job_demand
    group by gpu_model, job_type
)

select
    gpu_model,
    job_type,
    types.jobs,
    100.0 * types.jobs / sum(types.jobs) over () as jobs_pct,
    organizations,
    types.gpu_h,
    100.0 * types.gpu_h / nullif(sum(stats.exact(types.gpu_h)) over (), 0) as gpu_h_pct
from types
order by gpu_model, job_type;

comment on macro table spot.gpu_time_by_type is 'Jobs, organisations that pay for them and GPU-hours, per requested GPU model and type of job, and the percentages of the total.';
