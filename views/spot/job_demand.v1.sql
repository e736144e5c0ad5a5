-- Jobs of the spot trace, with the requests of all their workers together.
-- grain: one row per job
-- source: README of cluster-trace-v2026-spot-gpu
-- answers: submission, run, group or recurrence
-- caveat: spot.demand_over_capacity: gpu_h
-- caveat: spot.durations_are_cut_off: submit_s run_s gpu_h
-- caveat: spot.models_are_hidden: gpu_model
-- caveat: spot.no_start: run_s gpu_h
-- caveat: spot.request_is_per_worker: requested_cpus requested_gpus gpu_h
create or replace view spot.job_demand_v1 as
select
    job_name as job_id,
    organization,
    gpu_model,
    job_type,
    submit_time as submit_s,
    duration as run_s,
    worker_num as instances,
    gpu_request as requested_gpus_per_instance,
    worker_num * gpu_request as requested_gpus,
    worker_num * cpu_request as requested_cpus,
    worker_num * gpu_request * duration / 3600.0 as gpu_h
from spot.job;

comment on column spot.job_demand_v1.requested_gpus is 'GPUs that all workers request; derived.';
comment on column spot.job_demand_v1.requested_cpus is 'CPU cores that all workers request; derived.';
comment on column spot.job_demand_v1.gpu_h is 'GPU-hours: the GPUs that all workers request, for as long as the job took; derived.';
