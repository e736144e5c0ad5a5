-- GPU utilisation of each attempt while it ran (Philly).
-- grain: one row per (job_id, attempt) with a start, an end and a measured minute of one of its GPUs
-- source: README of msr-fiddle/philly-traces; its notebook, which joins both as they are written
-- caveat: philly.hour_comes_twice
-- caveat: philly.lines_are_glued
-- caveat: philly.log_has_no_zone
-- caveat: philly.use_is_averaged: mean_gpu_pct idle_gpu_pct
-- resolves_caveat: philly.na_is_offline
-- resolves_caveat: philly.no_end_means_running
-- materialize: parquet by job_id, attempt
create or replace view philly.attempt_utilization_v1 as
-- Local minutes without the time zone, like the times of the log.
with minutes as (
    select
        machine_id,
        (
            epoch_us(time) // 1000000
            + case time_utc_offset when '-07:00' then -25200 when '-08:00' then -28800 end
        ) // 60 as minute_number,
        gpu0_util,
        gpu1_util,
        gpu2_util,
        gpu3_util,
        gpu4_util,
        gpu5_util,
        gpu6_util,
        gpu7_util
    from philly.gpu_util
),

measured as (
    select
        min(minute_number) as first_minute,
        max(minute_number) as last_minute
    from minutes
),

-- From the first to the last minute that begins during the run.
runs as (
    select
        attempt.job_id,
        attempt.attempt,
        machine.ip,
        machine.gpus,
        greatest(cast(ceil(attempt.start_s / 60) as bigint), measured.first_minute) as from_minute,
        least(cast(ceil(attempt.end_s / 60) as bigint) - 1, measured.last_minute) as to_minute
    from philly.attempt_run_v1 as attempt
    inner join philly.attempt_machine as machine
        on attempt.job_id = machine.jobid and attempt.attempt = machine.attempt
    cross join measured
    -- Without an end, it is unknown how long the attempt held its GPUs.
    where attempt.start_s is not null and attempt.end_s is not null
),

-- A run with an end decades after the measurements has some ten thousand days, but millions of minutes.
run_days as (
    select
        job_id,
        attempt,
        ip,
        from_minute,
        to_minute,
        list_contains(gpus, 'gpu0') as on_gpu0,
        list_contains(gpus, 'gpu1') as on_gpu1,
        list_contains(gpus, 'gpu2') as on_gpu2,
        list_contains(gpus, 'gpu3') as on_gpu3,
        list_contains(gpus, 'gpu4') as on_gpu4,
        list_contains(gpus, 'gpu5') as on_gpu5,
        list_contains(gpus, 'gpu6') as on_gpu6,
        list_contains(gpus, 'gpu7') as on_gpu7,
        unnest(generate_series(from_minute // 1440, to_minute // 1440)) as day_number
    from runs
    where from_minute <= to_minute
),

used as (
    select
        run_days.job_id,
        run_days.attempt,
        case when run_days.on_gpu0 then minutes.gpu0_util end as gpu0,
        case when run_days.on_gpu1 then minutes.gpu1_util end as gpu1,
        case when run_days.on_gpu2 then minutes.gpu2_util end as gpu2,
        case when run_days.on_gpu3 then minutes.gpu3_util end as gpu3,
        case when run_days.on_gpu4 then minutes.gpu4_util end as gpu4,
        case when run_days.on_gpu5 then minutes.gpu5_util end as gpu5,
        case when run_days.on_gpu6 then minutes.gpu6_util end as gpu6,
        case when run_days.on_gpu7 then minutes.gpu7_util end as gpu7
    from run_days
    inner join minutes
        on run_days.ip = minutes.machine_id and run_days.day_number = minutes.minute_number // 1440
    where minutes.minute_number between run_days.from_minute and run_days.to_minute
),

sums as (
    select
        job_id,
        attempt,
        count(gpu0) + count(gpu1) + count(gpu2) + count(gpu3)
        + count(gpu4) + count(gpu5) + count(gpu6) + count(gpu7) as gpu_minutes,
        coalesce(stats.fsum(gpu0), 0) + coalesce(stats.fsum(gpu1), 0)
        + coalesce(stats.fsum(gpu2), 0) + coalesce(stats.fsum(gpu3), 0)
        + coalesce(stats.fsum(gpu4), 0) + coalesce(stats.fsum(gpu5), 0)
        + coalesce(stats.fsum(gpu6), 0) + coalesce(stats.fsum(gpu7), 0) as total_pct,
        count(*) filter (where gpu0 = 0) + count(*) filter (where gpu1 = 0)
        + count(*) filter (where gpu2 = 0) + count(*) filter (where gpu3 = 0)
        + count(*) filter (where gpu4 = 0) + count(*) filter (where gpu5 = 0)
        + count(*) filter (where gpu6 = 0) + count(*) filter (where gpu7 = 0) as idle_gpu_minutes
    from used
    group by job_id, attempt
)

select
    job_id,
    attempt,
    gpu_minutes,
    total_pct / gpu_minutes as mean_gpu_pct,
    100.0 * idle_gpu_minutes / gpu_minutes as idle_gpu_pct
from sums
where gpu_minutes > 0;

comment on column philly.attempt_utilization_v1.gpu_minutes is 'GPU-minutes that begin while the attempt runs and have a measured use; derived.';
comment on column philly.attempt_utilization_v1.mean_gpu_pct is 'Mean use of the attempt''s GPUs over these minutes; derived.';
comment on column philly.attempt_utilization_v1.idle_gpu_pct is 'Share of these minutes whose use is 0; derived.';
