-- Free GPUs that no job on one machine can use (Philly GPUs)
-- param: job_gpus: GPUs of a job that must fit on one machine
-- range: job_gpus: 1 to 8
-- chart: line x=hour_start y=unusable_gpus rule=free_gpus xname=date
-- column: hour_start: Start of the hour on the clock of the job log, whose time zone is not stated
-- column: held_gpus: GPUs that an attempt holds, mean over the hour; a GPU held by two attempts counts once
-- column: capacity_gpus: GPUs of all machines: the largest number listed, used or measured for each
-- column: free_gpus: GPUs that no attempt holds, mean over the hour
-- column: fitting_jobs: Jobs of job_gpus GPUs that would fit on the free GPUs, each on one machine; mean over the hour
-- column: unusable_gpus: Free GPUs that remain if as many such jobs as fit are placed, mean over the hour
-- column: unusable_pct: Share of the free GPUs that are unusable
create or replace macro philly.fragmentation_hourly(job_gpus integer := 8) as table
with machines as (
    select
        machine_id,
        cast(
            greatest(coalesce(listed_gpus, 0), coalesce(used_gpus, 0), coalesce(measured_gpus, 0)) as bigint
        ) as gpus
    from philly.machine_inventory
),

used as (
    select
        jobid,
        attempt,
        ip,
        unnest(gpus) as gpu
    from philly.attempt_machine
),

allocations as (
    select
        used.ip,
        used.gpu,
        attempt.start_s,
        attempt.end_s,
        max(attempt.end_s) over (
            partition by used.ip, used.gpu
            order by attempt.start_s, attempt.end_s, attempt.job_id, attempt.attempt
            rows between unbounded preceding and 1 preceding
        ) as taken_until_s
    from used
    inner join philly.attempt_run as attempt
        on used.jobid = attempt.job_id and used.attempt = attempt.attempt
    where attempt.end_s > attempt.start_s
),

-- The part of an allocation in which no earlier one holds the GPU.
additions as (
    select
        ip,
        greatest(start_s, coalesce(taken_until_s, start_s)) as from_s,
        end_s as to_s
    from allocations
    where end_s > coalesce(taken_until_s, start_s)
),

edges as (
    select
        ip,
        from_s as at_s,
        1 as change
    from additions
    union all
    select
        ip,
        to_s as at_s,
        -1 as change
    from additions
),

changes as (
    select
        ip,
        at_s,
        cast(sum(change) as bigint) as held_change
    from edges
    group by ip, at_s
),

levels as (
    select
        changes.at_s,
        changes.held_change,
        changes.ip,
        machines.gpus - cast(
            sum(changes.held_change) over (
                partition by changes.ip order by changes.at_s
                rows between unbounded preceding and current row
            ) as bigint
        ) as free_after,
        machines.gpus
    from changes
    inner join machines on changes.ip = machines.machine_id
),

fits as (
    select
        at_s,
        held_change,
        free_after // nullif(job_gpus, 0)
        - (free_after + held_change) // nullif(job_gpus, 0) as fitting_change,
        cast(floor(at_s / 3600) as bigint) as hour
    from levels
),

-- A change applies from its hour on, less the part of that hour before the change.
hourly_changes as (
    select
        hour,
        fsum(held_change) as held_change,
        fsum(held_change * (at_s - 3600 * hour)) as held_s_before,
        fsum(fitting_change) as fitting_change,
        fsum(fitting_change * (at_s - 3600 * hour)) as fitting_s_before
    from fits
    group by hour
),

bounds as (
    select
        min(hour) as first_hour,
        max(hour) as last_hour
    from hourly_changes
),

hours as (
    select unnest(generate_series(first_hour, last_hour)) as hour
    from bounds
    where first_hour is not null
),

capacity as (
    select
        cast(sum(gpus) as bigint) as capacity_gpus,
        cast(sum(gpus // nullif(job_gpus, 0)) as bigint) as fitting_if_empty
    from machines
),

means as (
    select
        hours.hour,
        fsum(coalesce(changed.held_change, 0)) over so_far
        - coalesce(changed.held_s_before, 0) / 3600.0 as held_gpus,
        fsum(coalesce(changed.fitting_change, 0)) over so_far
        - coalesce(changed.fitting_s_before, 0) / 3600.0 as more_fitting
    from hours
    left join hourly_changes as changed on hours.hour = changed.hour
    window so_far as (order by hours.hour rows between unbounded preceding and current row)
),

free as (
    select
        means.hour,
        means.held_gpus,
        capacity.capacity_gpus,
        capacity.capacity_gpus - means.held_gpus as free_gpus,
        capacity.fitting_if_empty + means.more_fitting as fitting_jobs
    from means
    cross join capacity
)

select
    cast(date '1970-01-01' as timestamp) + to_seconds(3600 * hour) as hour_start,
    held_gpus,
    capacity_gpus,
    free_gpus,
    fitting_jobs,
    free_gpus - job_gpus * fitting_jobs as unusable_gpus,
    100.0 * (free_gpus - job_gpus * fitting_jobs) / nullif(free_gpus, 0) as unusable_pct
from free
order by hour;

comment on macro table philly.fragmentation_hourly is 'Held and free GPUs, the jobs of job_gpus GPUs that would fit on single machines, and the free GPUs that remain then, per hour of the job log''s clock; exact means over the seconds of the hour. Attempts without a start or an end hold no GPUs, and machines count as available all the time, so free GPUs are an upper bound. The bound is weaker for GPUs that only the job log or the measurements name.';
