-- Pairs of PAI workers that ran on the same GPU at the same time.
-- grain: one row per (worker_name, other_worker_name), in the order of their names
-- source: README of cluster-trace-gpu-v2020, pai_sensor_table; the maintainer in alibaba/clusterdata issue 185
-- caveat: pai.gpu_sharing_needs_device
-- caveat: pai.gpu_name_is_device
-- caveat: pai.sensor_covers_two_fifths
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

-- Two workers of a GPU meet in the hour in which the later one starts, so that each needs to be compared with
-- those of the same hour only, not with all that its GPU ever ran.
by_hour as (
    select
        *,
        unnest(
            generate_series(cast(floor(start_s / 3600) as bigint), cast(floor(end_s / 3600) as bigint))
        ) as hour
    from placed
),

overlapping as (
    select
        one.machine,
        one.gpu_name,
        one.worker_name,
        other.worker_name as other_worker_name,
        one.job_name,
        other.job_name as other_job_name,
        greatest(one.start_s, other.start_s) as overlap_start_s,
        least(one.end_s, other.end_s) as overlap_end_s
    from by_hour as one
    inner join by_hour as other
        on
            one.machine = other.machine
            and one.gpu_name = other.gpu_name
            and one.hour = other.hour
            and one.worker_name < other.worker_name
            and one.start_s < other.end_s
            and one.end_s > other.start_s
            and one.hour = cast(floor(greatest(one.start_s, other.start_s) / 3600) as bigint)
)

select
    machine,
    gpu_name,
    worker_name,
    other_worker_name,
    job_name,
    other_job_name,
    overlap_start_s,
    overlap_end_s,
    overlap_end_s - overlap_start_s as overlap_s,
    job_name = other_job_name as is_same_job
from overlapping;

comment on view pai.gpu_sharing_v1 is 'Pairs of PAI workers that ran on the same GPU at the same time.';
comment on column pai.gpu_sharing_v1.machine is 'Machine of the GPU, as its sensors say; measured.';
comment on column pai.gpu_sharing_v1.gpu_name is 'Device of the GPU on its machine; measured.';
comment on column pai.gpu_sharing_v1.worker_name is 'Worker of the pair whose name comes first; measured.';
comment on column pai.gpu_sharing_v1.other_worker_name is 'The other worker; measured.';
comment on column pai.gpu_sharing_v1.job_name is 'Job of the first worker; measured.';
comment on column pai.gpu_sharing_v1.other_job_name is 'Job of the other worker; measured.';
comment on column pai.gpu_sharing_v1.overlap_start_s is 'Start of the later of the two in seconds of the shifted clock; derived.';
comment on column pai.gpu_sharing_v1.overlap_end_s is 'End of the one that ended first in seconds of the shifted clock; derived.';
comment on column pai.gpu_sharing_v1.overlap_s is 'Seconds that both ran, by start and end of the runs that the publisher''s rule keeps; derived.';
comment on column pai.gpu_sharing_v1.is_same_job is 'Whether the two are workers of one job; derived.';
