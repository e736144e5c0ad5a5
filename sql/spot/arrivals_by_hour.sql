-- Job arrivals per hour by job type (spot jobs)
-- resolves_caveat: spot.durations_are_cut_off
-- chart: line x=hour_start_s y=jobs yname=jobs_per_hour facet=job_type note=HP: high priority.
-- column: hour_start_s: Start of the hour on the clock of the trace
-- column: jobs: Jobs submitted in the hour
-- column: requested_gpus: GPUs that the submitted jobs request
create or replace macro spot.arrivals_by_hour(
    -- first hour to include; hour 0 contains the jobs that already ran when the trace began [0 to 100000]
    from_hour bigint := 1
) as table
with arrivals as (
    select
        cast(floor(submit_s / 3600) as bigint) as hour_number,
        job_type,
        count(*) as jobs,
        stats.fsum(requested_gpus) as requested_gpus
    from spot.job_demand
    group by all
),

hours as (
    select number as hour_number
    from stats.number_range('arrivals', null, hour_number)
    where number >= from_hour
),

types as (
    select distinct job_type
    from arrivals
)

select
    3600 * hours.hour_number as hour_start_s,
    types.job_type,
    coalesce(arrivals.jobs, 0) as jobs,
    coalesce(arrivals.requested_gpus, 0) as requested_gpus
from hours
cross join types
left join arrivals on hours.hour_number = arrivals.hour_number and types.job_type = arrivals.job_type
order by hours.hour_number, types.job_type;

comment on macro table spot.arrivals_by_hour is 'Jobs submitted and the GPUs they request, per hour from the first to the last submission and per type of job. The hour of day at which the clock starts is unknown.';
