-- GPUs held per hour by service (DLRM GPU instances)
-- answers: requested GPUs
-- chart: line x=hour_start_s y=held_gpus facet=service
-- column: service: Service, or others: those that hold fewer GPU-hours in the trace
-- column: services [services]: Services that the row counts
-- column: hour_start_s: Start of the hour, seconds since the start of the trace
-- column: covered_s: Seconds of the hour before the last recorded time
-- column: held_gpus: GPUs that running instances hold, mean over the covered seconds of the hour
-- column: left_censored_gpus: Part of the held GPUs whose instance began before the trace
-- column: right_censored_gpus: Part of the held GPUs whose instance has no recorded end
create or replace macro dlrm.held_gpus_by_service(
    -- number of services with the most GPU-hours to list; the others are added up as others [0 to 156]
    top_services integer := 10
) as table
with instances as (
    select
        group_id,
        requested_gpus,
        held_gpu_s,
        is_left_censored,
        is_right_censored,
        observed_start_s as from_s,
        observed_start_s + observed_run_s as to_s
    from dlrm.standard_job
    where requested_gpus > 0 and observed_run_s > 0
),

ranked as (
    select
        group_id,
        row_number() over (order by stats.fsum(held_gpu_s) desc, group_id asc) as place
    from instances
    group by group_id
),

classed as (
    select
        group_id,
        case when place <= top_services then group_id else 'others' end as service,
        case when place <= top_services then place else 1 + top_services end as place
    from ranked
),

classes as (
    select
        service,
        place,
        count(*) as services
    from classed
    group by service, place
),

-- Instances without GPUs are seen to the end of the trace as well.
seen as (
    select max(observed_start_s + observed_run_s) as trace_end_s
    from dlrm.standard_job
),

-- One row per instance and hour that it runs in.
spans as (
    select
        group_id,
        requested_gpus,
        is_left_censored,
        is_right_censored,
        from_s,
        to_s,
        unnest(
            generate_series(cast(floor(from_s / 3600) as bigint), cast(ceil(to_s / 3600) - 1 as bigint))
        ) as hour
    from instances
),

parts as (
    select
        group_id,
        hour,
        is_left_censored,
        is_right_censored,
        requested_gpus
        * (least(to_s, 3600 * (hour + 1)) - greatest(from_s, 3600 * hour)) as held_gpu_s
    from spans
),

held as (
    select
        classed.service,
        parts.hour,
        stats.fsum(parts.held_gpu_s) as held_gpu_s,
        stats.fsum(case when parts.is_left_censored then parts.held_gpu_s end) as left_gpu_s,
        stats.fsum(case when parts.is_right_censored then parts.held_gpu_s end) as right_gpu_s
    from parts
    inner join classed on parts.group_id = classed.group_id
    group by classed.service, parts.hour
),

hours as (
    select
        unnest(generate_series(0, cast(ceil(trace_end_s / 3600) - 1 as bigint))) as hour,
        trace_end_s
    from seen
    where trace_end_s is not null
),

-- Includes hours in which a service holds no GPU.
covered as (
    select
        classes.service,
        classes.place,
        classes.services,
        hours.hour,
        least(3600, hours.trace_end_s - 3600 * hours.hour) as covered_s
    from classes
    cross join hours
)

select
    covered.service,
    covered.services,
    3600 * covered.hour as hour_start_s,
    covered.covered_s,
    coalesce(held.held_gpu_s, 0) / covered.covered_s as held_gpus,
    coalesce(held.left_gpu_s, 0) / covered.covered_s as left_censored_gpus,
    coalesce(held.right_gpu_s, 0) / covered.covered_s as right_censored_gpus
from covered
left join held on covered.service = held.service and covered.hour = held.hour
order by covered.place, covered.hour;

comment on macro table dlrm.held_gpus_by_service is
'GPUs held by running GPU instances per hour of the trace and service, for the services with the most '
'GPU-hours and all others together; every hour has a row. Instances that ran before the trace began hold '
'their GPUs from its first second, and instances without a recorded end hold theirs to its last recorded '
'time.';
