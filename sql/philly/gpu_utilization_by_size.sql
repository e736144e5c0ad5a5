-- GPU utilisation by job size and status (Philly jobs)
-- chart: bar x=gpu_band y=mean_gpu_pct color=published_status
-- column: jobs: Jobs with a measured minute
-- column: gpu_minutes: Minutes of their GPUs with a measured use
-- column: mean_gpu_pct: Mean use of their GPUs over these minutes
-- column: idle_gpu_pct: Share of these minutes in which the GPU's use is 0
create or replace macro philly.gpu_utilization_by_size() as table
select
    job.gpu_band,
    job.published_status,
    count(distinct job.job_id) as jobs,
    cast(sum(used.gpu_minutes) as bigint) as gpu_minutes,
    fsum(used.gpu_minutes * used.mean_gpu_pct) / sum(used.gpu_minutes) as mean_gpu_pct,
    fsum(used.gpu_minutes * used.idle_gpu_pct) / sum(used.gpu_minutes) as idle_gpu_pct
from philly.attempt_utilization as used
inner join philly.job_run as job on used.job_id = job.job_id
group by job.gpu_band, job.published_status
order by min(job.allocated_gpus), job.published_status;

comment on macro table philly.gpu_utilization_by_size is 'Mean use of the GPUs of jobs over the measured minutes of their attempts, per band of the GPUs of the first attempt and per status, if the job log keeps the clock of the measurements.';
