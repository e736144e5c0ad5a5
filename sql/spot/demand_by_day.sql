-- GPU demand and capacity per day (spot jobs)
-- caveat: spot.demand_over_capacity
-- column: day_start_s: Start of the day on the clock of the trace
-- column: demanded_gpus: GPUs of jobs that run from submission for their duration, mean over the day
-- column: demanded_pct: Demanded GPUs in percent of the capacity
-- chart: line x=day_start_s y=demanded_gpus rule=capacity_gpus facet=gpu_model
create or replace macro spot.demand_by_day(
    -- type of job, or all [all HP Spot]
    on_job_type varchar := 'all'
) as table
with jobs as ( -- noqa: ST03
    select
        gpu_model,
        requested_gpus,
        submit_s as from_s,
        submit_s + run_s as to_s
    from spot.job_demand
    where on_job_type in ('all', job_type)
),

demanded as (
    select
        series as gpu_model,
        window_number as day_number,
        held_s as gpu_s
    from stats.held_by_window('jobs', gpu_model, requested_gpus, from_s, to_s, 86400)
),

days as (
    select number as day_number
    from stats.number_range('demanded', null, day_number)
),

models as (
    select distinct gpu_model
    from demanded
),

capacity as (
    select
        partition_name as gpu_model,
        gpus
    from spot.cluster_capacity
)

select
    86400 * days.day_number as day_start_s,
    models.gpu_model,
    coalesce(demanded.gpu_s, 0) / 86400.0 as demanded_gpus,
    capacity.gpus as capacity_gpus,
    100.0 * coalesce(demanded.gpu_s, 0) / 86400.0 / nullif(capacity.gpus, 0) as demanded_pct
from days
cross join models
left join demanded on days.day_number = demanded.day_number and models.gpu_model = demanded.gpu_model
left join capacity on models.gpu_model = capacity.gpu_model
order by days.day_number, models.gpu_model;

comment on macro table spot.demand_by_day is 'GPUs that jobs would hold if each ran from its submission for its duration, mean over the day, and capacity, per GPU model. Days count from the first submission to the last such end. Demand may exceed the capacity.';
