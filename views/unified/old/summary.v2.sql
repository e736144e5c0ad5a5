-- Clusters in the layout of the table that compares Acme with Philly, Helios and PAI, computed from their
-- jobs.
-- grain: one row per (trace, cluster); a trace that does not distinguish its clusters has one row
-- source: AcmeTrace, data/cluster_summary.csv, for the layout
-- caveat: pai.plan_is_per_instance: mean_gpus median_gpus max_gpus
-- Differs from version 1 in the last digits only: its sums are exact, and so the same on every run.
create or replace view unified.summary_v2 as
-- GPUs per instance for PAI, as in the published table: so its mean is under 1 and its largest job has 8.
with jobs as (
    select
        every_job.trace,
        every_job.cluster,
        every_job.wait_s,
        every_job.run_s,
        every_job.gpu_s,
        every_job.status,
        every_job.requested_gpus > 0 as is_gpu_job,
        every_job.requested_gpus = 0 as is_cpu_job,
        every_job.status <> 'unknown' as is_known,
        case when every_job.trace = 'pai' then task.plan_gpu / 100.0 else every_job.requested_gpus end as gpus
    from unified.jobs_v1 as every_job
    left join pai.task as task
        on every_job.trace = 'pai' and every_job.job_id = task.job_name || '/' || task.task_name
),

counted as (
    select
        trace,
        cluster,
        count(*) as jobs,
        count(*) filter (where is_cpu_job) as cpu_jobs,
        count(*) filter (where is_gpu_job) as gpu_jobs,
        stats.favg(case when is_gpu_job then run_s end) as mean_run_s,
        stats.favg(case when is_gpu_job then wait_s end) as mean_wait_s,
        stats.favg(case when is_gpu_job then gpus end) as mean_gpus,
        median(run_s) filter (where is_gpu_job) as median_run_s,
        median(wait_s) filter (where is_gpu_job) as median_wait_s,
        median(gpus) filter (where is_gpu_job) as median_gpus,
        max(run_s) filter (where is_gpu_job) as max_run_s,
        max(gpus) filter (where is_gpu_job) as max_gpus,
        count(*) filter (where is_gpu_job and is_known) as known_jobs,
        count(*) filter (where is_gpu_job and status = 'completed') as completed_jobs,
        count(*) filter (where is_gpu_job and status = 'cancelled') as cancelled_jobs,
        count(*) filter (where is_gpu_job and status = 'failed') as failed_jobs,
        stats.fsum(case when is_gpu_job and is_known then gpu_s end) as known_gpu_s,
        stats.fsum(case when is_gpu_job and status = 'completed' then gpu_s end) as completed_gpu_s,
        stats.fsum(case when is_gpu_job and status = 'cancelled' then gpu_s end) as cancelled_gpu_s,
        stats.fsum(case when is_gpu_job and status = 'failed' then gpu_s end) as failed_gpu_s,
        stats.favg(case when is_cpu_job then run_s end) as mean_run_s_cpu,
        stats.favg(case when is_cpu_job then wait_s end) as mean_wait_s_cpu,
        median(run_s) filter (where is_cpu_job) as median_run_s_cpu,
        median(wait_s) filter (where is_cpu_job) as median_wait_s_cpu,
        count(*) filter (where is_cpu_job and is_known) as known_cpu_jobs,
        count(*) filter (where is_cpu_job and status = 'completed') as completed_cpu_jobs,
        count(*) filter (where is_cpu_job and status = 'cancelled') as cancelled_cpu_jobs,
        count(*) filter (where is_cpu_job and status = 'failed') as failed_cpu_jobs
    from jobs
    group by trace, cluster
)

select
    trace,
    cluster,
    jobs,
    cpu_jobs,
    gpu_jobs,
    mean_run_s,
    mean_wait_s,
    mean_gpus,
    median_run_s,
    median_wait_s,
    median_gpus,
    max_run_s,
    max_gpus,
    completed_jobs / nullif(known_jobs, 0) as completed_share,
    cancelled_jobs / nullif(known_jobs, 0) as cancelled_share,
    failed_jobs / nullif(known_jobs, 0) as failed_share,
    -- If outcomes are known, no cancelled job means no time in cancelled jobs; otherwise that time is unknown.
    coalesce(completed_gpu_s, 0 * known_gpu_s) as completed_gpu_s,
    coalesce(cancelled_gpu_s, 0 * known_gpu_s) as cancelled_gpu_s,
    coalesce(failed_gpu_s, 0 * known_gpu_s) as failed_gpu_s,
    coalesce(completed_gpu_s, 0) / nullif(known_gpu_s, 0) as completed_gpu_time_share,
    coalesce(cancelled_gpu_s, 0) / nullif(known_gpu_s, 0) as cancelled_gpu_time_share,
    coalesce(failed_gpu_s, 0) / nullif(known_gpu_s, 0) as failed_gpu_time_share,
    mean_run_s_cpu,
    mean_wait_s_cpu,
    median_run_s_cpu,
    median_wait_s_cpu,
    completed_cpu_jobs / nullif(known_cpu_jobs, 0) as completed_share_cpu,
    cancelled_cpu_jobs / nullif(known_cpu_jobs, 0) as cancelled_share_cpu,
    failed_cpu_jobs / nullif(known_cpu_jobs, 0) as failed_share_cpu
from counted;
