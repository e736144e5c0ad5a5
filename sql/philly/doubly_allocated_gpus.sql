-- GPUs allocated to two attempts at once per day (Philly GPUs)
-- answers: GPU sharing
-- resolves_caveat: philly.gpus_are_those_used
-- chart: line x=day y=double_gpu_h_pct yname=gpu_time_in_two_attempts_pct
-- column: day: Day of the job log, whose time zone is not stated
-- column: allocations [allocations]: Allocations of one GPU to one attempt that begin on the day, start and end being known
-- column: double_allocations [allocations]: Allocations of the day that begin while an earlier allocation of the same GPU lasts
-- column: gpu_h: GPU-hours of the allocations that begin on the day
-- column: double_gpu_h: GPU-hours for which an allocation of the day overlaps an earlier one
-- column: double_gpu_h_pct: Share of the GPU-hours that overlap an earlier allocation
-- column: untimed_allocations [allocations]: Allocations of one GPU whose attempt has a start on the day and no logged end; they are left out
create or replace macro philly.doubly_allocated_gpus() as table
with used as (
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
        attempt.job_id,
        attempt.attempt,
        attempt.start_s,
        attempt.end_s,
        cast(floor(attempt.start_s / 86400) as bigint) as day_number
    from used
    inner join philly.attempt_run as attempt
        on used.jobid = attempt.job_id and used.attempt = attempt.attempt
    where attempt.start_s is not null
),

-- The latest end among the allocations of the GPU that began before.
compared as (
    select
        day_number,
        start_s,
        end_s,
        max(end_s) over (
            partition by ip, gpu
            order by start_s, end_s, job_id, attempt rows between unbounded preceding and 1 preceding
        ) as taken_until_s
    from allocations
    where end_s > start_s
),

days as (
    select
        day_number,
        count(*) as allocations,
        count(*) filter (where start_s < taken_until_s) as double_allocations,
        stats.fsum(end_s - start_s) / 3600.0 as gpu_h,
        coalesce(
            stats.fsum(case when start_s < taken_until_s then least(end_s, taken_until_s) - start_s end), 0
        ) / 3600.0 as double_gpu_h
    from compared
    group by day_number
),

untimed as (
    select
        day_number,
        count(*) as untimed_allocations
    from allocations
    where end_s is null
    group by day_number
)

select
    date '1970-01-01' + cast(days.day_number as integer) as day,
    days.allocations,
    days.double_allocations,
    days.gpu_h,
    days.double_gpu_h,
    100.0 * days.double_gpu_h / days.gpu_h as double_gpu_h_pct,
    coalesce(untimed.untimed_allocations, 0) as untimed_allocations
from days
left join untimed on days.day_number = untimed.day_number
order by days.day_number;

comment on macro table philly.doubly_allocated_gpus is
'Allocations of single GPUs to attempts per day of their start, those that begin while an earlier '
'allocation of the same GPU of the same machine lasts, and the GPU-hours of the overlaps. GPU-hours count '
'the whole length of an allocation on the day of its start. Whether two attempts shared the GPU or the '
'log is wrong is not documented. Days without an allocation that has a start and an end are left out.';
