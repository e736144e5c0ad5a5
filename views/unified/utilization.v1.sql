-- GPU time of jobs with a measured utilisation, for the traces that link jobs and measurements.
-- grain: one row per (trace, job_id) with a measured utilisation
-- source: each publisher's README
create or replace view unified.utilization_v1 as
select
    trace,
    job_id,
    sampled_per,
    measured_gpu_s,
    used_gpu_s
from each_trace.job_utilization_v1;

comment on column unified.utilization_v1.trace is 'Trace; measured.';
comment on column unified.utilization_v1.job_id is 'Job, as in unified.jobs; measured.';
comment on column unified.utilization_v1.sampled_per is 'What one measured value is a mean over: minutes of a GPU, or lives of workers; derived.';
comment on column unified.utilization_v1.measured_gpu_s is 'Allocated GPU time of the job with a measured utilisation; derived.';
comment on column unified.utilization_v1.used_gpu_s is 'Measured GPU time multiplied by the utilisation; may exceed it where workers use more than they requested; derived.';
