-- GPU utilisation by job size and status (Philly jobs)
-- chart: bar x=gpu_band y=mean_gpu_pct color=published_status yname=mean_gpu_utilisation_pct xname=requested_gpus
-- column: jobs: Jobs with a measured GPU-minute
-- column: gpu_minutes: Measured GPU-minutes of the jobs
-- column: mean_gpu_pct: Mean GPU utilisation over the measured GPU-minutes of the jobs
-- column: idle_gpu_pct: Share of the measured GPU-minutes of the jobs with a utilisation of 0
create or replace macro philly.gpu_utilization_by_size() as table
select
    job.gpu_band,
    job.published_status,
    count(distinct job.job_id) as jobs,
    cast(sum(used.gpu_minutes) as bigint) as gpu_minutes,
    stats.fsum(used.gpu_minutes * used.mean_gpu_pct) / sum(used.gpu_minutes) as mean_gpu_pct,
    stats.fsum(used.gpu_minutes * used.idle_gpu_pct) / sum(used.gpu_minutes) as idle_gpu_pct
from philly.attempt_utilization as used
inner join philly.job_run as job on used.job_id = job.job_id
group by job.gpu_band, job.published_status
order by min(job.allocated_gpus), job.published_status;

comment on macro table philly.gpu_utilization_by_size is 'Mean GPU utilisation of jobs over the measured minutes of their attempts, per band of GPUs of the first attempt and per status. This assumes that the job log and the measurements use the same clock.';
