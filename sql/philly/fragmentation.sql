-- Free GPUs that no job on one machine can use (Philly GPUs)
-- answers: fragmentation
-- resolves_caveat: philly.gpus_are_those_used
-- chart: line x=bin_start y=unusable_gpus rule=free_gpus xname=date note=Unusable: free GPUs that remain after jobs of {job_gpus} GPUs each fill the machines.
-- column: bin_start: Start of the bin on the clock of the job log, whose time zone is not stated
-- column: held_gpus: GPUs that an attempt holds, mean over the bin; a GPU held by two attempts counts once
-- column: capacity_gpus: GPUs of all machines: the largest number listed, used or measured for each
-- column: free_gpus: GPUs that no attempt holds, mean over the bin
-- column: fitting_jobs [no unit]: Jobs of job_gpus GPUs that would fit on the free GPUs, each on one machine; mean over the bin
-- column: unusable_gpus: Free GPUs that remain if as many such jobs as fit are placed, mean over the bin
-- column: unusable_pct: Share of the free GPUs that are unusable
create or replace macro philly.fragmentation(
    -- GPUs of a job that must fit on one machine [1 to 8]
    job_gpus integer := 8,
    -- minutes per row; all values are means over them [1 to 1440]
    bin_minutes integer := 60
) as table
with machines as (
    select
        machine_id,
        cast(gpus as bigint) as gpus
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
        60 * nullif(bin_minutes, 0) as bin_s,
        cast(floor(at_s / nullif(60 * bin_minutes, 0)) as bigint) as bin
    from levels
),

binned as (
    select
        bin,
        held_change,
        fitting_change,
        at_s - bin_s * bin as into_bin_s
    from fits
),

-- A change applies from its bin on, less the part of that bin before the change.
changes_of_bins as (
    select
        bin,
        stats.fsum(held_change) as held_change,
        stats.fsum(held_change * into_bin_s) as held_s_before,
        stats.fsum(fitting_change) as fitting_change,
        stats.fsum(fitting_change * into_bin_s) as fitting_s_before
    from binned
    group by bin
),

bounds as (
    select
        min(bin) as first_bin,
        max(bin) as last_bin
    from changes_of_bins
),

bins as (
    select
        unnest(generate_series(first_bin, last_bin)) as bin,
        60.0 * nullif(bin_minutes, 0) as bin_s
    from bounds
    where first_bin is not null
),

capacity as (
    select
        cast(sum(gpus) as bigint) as capacity_gpus,
        cast(sum(gpus // nullif(job_gpus, 0)) as bigint) as fitting_if_empty
    from machines
),

means as (
    select
        bins.bin,
        sum(stats.exact(coalesce(changed.held_change, 0))) over so_far
        - coalesce(changed.held_s_before, 0) / bins.bin_s as held_gpus,
        sum(stats.exact(coalesce(changed.fitting_change, 0))) over so_far
        - coalesce(changed.fitting_s_before, 0) / bins.bin_s as more_fitting
    from bins
    left join changes_of_bins as changed on bins.bin = changed.bin
    window so_far as (order by bins.bin rows between unbounded preceding and current row)
),

free as (
    select
        means.bin,
        means.held_gpus,
        capacity.capacity_gpus,
        capacity.capacity_gpus - means.held_gpus as free_gpus,
        capacity.fitting_if_empty + means.more_fitting as fitting_jobs
    from means
    cross join capacity
)

select
    cast(date '1970-01-01' as timestamp) + to_seconds(60 * bin_minutes * bin) as bin_start,
    held_gpus,
    capacity_gpus,
    free_gpus,
    fitting_jobs,
    free_gpus - job_gpus * fitting_jobs as unusable_gpus,
    100.0 * (free_gpus - job_gpus * fitting_jobs) / nullif(free_gpus, 0) as unusable_pct
from free
order by bin;

comment on macro table philly.fragmentation is
'Held and free GPUs, the jobs of job_gpus GPUs that would fit on single machines, and the free GPUs that '
'remain then, per bin of bin_minutes on the job log''s clock; exact means over the seconds of the bin. '
'Attempts without a start or an end hold no GPUs, and machines count as available all the time, so free '
'GPUs are an upper bound. The bound is weaker for GPUs that only the job log or the measurements name.';
