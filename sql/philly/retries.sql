-- Retries and their GPU-hours by job size (Philly jobs)
-- chart: bar x=gpu_band y=retried_pct yname=retried_jobs_pct xname=requested_gpus title=Share of retried jobs by job size (Philly jobs)
-- column: jobs: Jobs of the band
-- column: retried_pct: Share of the jobs that had another attempt
-- column: mean_retries [attempts]: Mean number of attempts after the first
-- column: max_attempts: Largest number of attempts of a job
-- column: gpu_h: GPU-hours of all attempts of the jobs
-- column: earlier_gpu_h_pct: Share of the GPU-hours in attempts that were followed by another
create or replace macro philly.retries() as table
select
    gpu_band,
    count(*) as jobs,
    100.0 * count(*) filter (where attempts > 1) / count(*) as retried_pct,
    sum(attempts - 1) / count(*) as mean_retries,
    max(attempts) as max_attempts,
    stats.fsum(held_gpu_s) / 3600.0 as gpu_h,
    100.0 * stats.fsum(earlier_gpu_s) / nullif(stats.fsum(held_gpu_s), 0) as earlier_gpu_h_pct
from philly.job_run
where attempts > 0
group by gpu_band
order by min(allocated_gpus);

comment on macro table philly.retries is 'Jobs with an attempt per band of GPUs of the first attempt, percentage of jobs with another attempt, mean number of further attempts, and percentage of GPU-hours in attempts that were followed by another.';
