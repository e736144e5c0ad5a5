-- Pairs of workers that ran on the same GPU at the same time (PAI).
-- grain: one row per (worker_name, other_worker_name), in the order of their names
-- source: README of cluster-trace-gpu-v2020, pai_sensor_table; the maintainer in alibaba/clusterdata issue 185
-- answers: GPU sharing
-- caveat: pai.failed_time_unknown: overlap_s
-- caveat: pai.gpu_name_is_device: gpu_name
-- caveat: pai.sensor_covers_two_fifths
-- resolves_caveat: pai.gpu_sharing_needs_device
-- resolves_caveat: pai.shifted_clock: overlap_s
-- resolves_caveat: pai.worker_name_repeats
-- materialize: parquet unsorted
create or replace view pai.gpu_sharing_v1 as
with placed as (
    select
        sensor.machine,
        sensor.gpu_name,
        worker.worker_name,
        worker.job_name,
        worker.start_s,
        worker.end_s
    from pai.worker_v1 as worker
    inner join pai.sensor as sensor on worker.worker_name = sensor.worker_name
    where
        sensor.machine is not null
        and sensor.gpu_name is not null
        and worker.end_s > worker.start_s
),

-- Two workers of a GPU overlap from the start of the later one. So each worker is compared only with workers of the
-- GPU that ran in the hour of its start. Of two workers with the same start, the first by name is the earlier one.
earlier as (
    select
        *,
        unnest(
            generate_series(cast(floor(start_s / 3600) as bigint), cast(floor(end_s / 3600) as bigint))
        ) as hour
    from placed
),

overlapping as (
    select
        later.machine,
        later.gpu_name,
        earlier.worker_name as earlier_worker,
        earlier.job_name as earlier_job,
        later.worker_name as later_worker,
        later.job_name as later_job,
        later.start_s as overlap_start_s,
        least(earlier.end_s, later.end_s) as overlap_end_s
    from earlier
    inner join placed as later
        on
            earlier.machine = later.machine
            and earlier.gpu_name = later.gpu_name
            and earlier.hour = cast(floor(later.start_s / 3600) as bigint)
            and earlier.end_s > later.start_s
            and (
                earlier.start_s < later.start_s
                or (earlier.start_s = later.start_s and earlier.worker_name < later.worker_name)
            )
)

select
    machine,
    gpu_name,
    least(earlier_worker, later_worker) as worker_name,
    greatest(earlier_worker, later_worker) as other_worker_name,
    case when earlier_worker < later_worker then earlier_job else later_job end as job_name,
    case when earlier_worker < later_worker then later_job else earlier_job end as other_job_name,
    overlap_start_s,
    overlap_end_s,
    overlap_end_s - overlap_start_s as overlap_s,
    earlier_job = later_job as is_same_job
from overlapping;

comment on column pai.gpu_sharing_v1.worker_name is 'Worker of the pair whose name comes first; measured.';
comment on column pai.gpu_sharing_v1.other_worker_name is 'The other worker; measured.';
comment on column pai.gpu_sharing_v1.job_name is 'Job of the first worker; measured.';
comment on column pai.gpu_sharing_v1.other_job_name is 'Job of the other worker; measured.';
comment on column pai.gpu_sharing_v1.overlap_start_s is 'Start of the worker that started later, in seconds of the shifted clock; derived.';
comment on column pai.gpu_sharing_v1.overlap_end_s is 'End of the worker that ended first, in seconds of the shifted clock; derived.';
comment on column pai.gpu_sharing_v1.overlap_s is 'Seconds in which both ran, by the runs that the publisher''s rule keeps; derived.';
comment on column pai.gpu_sharing_v1.is_same_job is 'Whether the two are workers of one job; derived.';
