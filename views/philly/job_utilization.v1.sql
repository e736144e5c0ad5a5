-- GPU time of Philly jobs with a measured utilisation, in the common format.
-- grain: one row per job with a measured GPU-minute
-- source: README of msr-fiddle/philly-traces; its notebook, which joins jobs and minutes of their GPUs as they are written
create or replace view philly.job_utilization_v1 as
select
    job_id,
    'minutes of a GPU' as sampled_per,
    60 * cast(sum(gpu_minutes) as double) as measured_gpu_s,
    60 * stats.fsum(gpu_minutes * mean_gpu_pct) / 100 as used_gpu_s
from philly.attempt_utilization_v1
group by job_id;

comment on column philly.job_utilization_v1.sampled_per is 'What one measured value is a mean over; derived.';
comment on column philly.job_utilization_v1.measured_gpu_s is 'GPU time with a measured utilisation: measured minutes of the GPUs of all attempts; derived.';
comment on column philly.job_utilization_v1.used_gpu_s is 'Measured GPU time multiplied by the utilisation; derived.';
