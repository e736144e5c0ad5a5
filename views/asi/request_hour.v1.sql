-- GPU pods by hour, kind of job and request (ASI).
-- grain: one row per (day, hour_of_day, job_type, requested_gpus, requested_cpus)
-- source: docs/schema.md of cluster-trace-gpu-v2026
-- caveat: asi.types_are_unknown: job_type
-- resolves_caveat: asi.pods_without_gpu
-- materialize: parquet per partition
create or replace view asi.request_hour_v1 as
select
    day,
    hour_of_day,
    job_type,
    requested_gpus,
    requested_cpus,
    count(*) as pod_hours
from asi.pod_hour_v1
where requested_gpus > 0
group by day, hour_of_day, job_type, requested_gpus, requested_cpus;

comment on column asi.request_hour_v1.requested_gpus is 'GPUs that each of the pods requests, fractions included; derived.';
comment on column asi.request_hour_v1.requested_cpus is 'CPU cores that each of the pods requests; 0 if not recorded; derived.';
comment on column asi.request_hour_v1.pod_hours is 'Pods with this request in the hour; a repeated pod counts twice [pod-hours]; derived.';
