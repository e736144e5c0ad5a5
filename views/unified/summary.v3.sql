-- Clusters in the layout of the table that compares Acme with Philly, Helios and PAI, computed from their
-- jobs.
-- grain: one row per (trace, cluster); a trace that does not distinguish its clusters has one row
-- source: AcmeTrace, data/cluster_summary.csv, for the layout
create or replace view unified.summary_v3 as
-- GPUs per instance for PAI, as in the published table: so its mean is under 1 and its largest job has 8.
with jobs as (
    select
        trace,
        cluster,
        wait_s,
        run_s,
        held_gpu_s,
        is_censored,
        -- The table's three classes add up to all jobs, so that a preempted one can only have failed there.
        case when status = 'preempted' then 'failed' else status end as status,
        requested_gpus > 0 as is_gpu_job,
        requested_gpus = 0 as is_cpu_job,
        status <> 'unknown' as is_known,
        requested_gpus_per_instance as gpus
    from unified.jobs_v2
),

counted as (
    select
        trace,
        cluster,
        count(*) as jobs,
        count(*) filter (where is_cpu_job) as cpu_jobs,
        count(*) filter (where is_gpu_job) as gpu_jobs,
        favg(run_s) filter (where is_gpu_job) as mean_run_s,
        favg(wait_s) filter (where is_gpu_job) as mean_wait_s,
        favg(gpus) filter (where is_gpu_job) as mean_gpus,
        median(run_s) filter (where is_gpu_job) as median_run_s,
        median(wait_s) filter (where is_gpu_job) as median_wait_s,
        median(gpus) filter (where is_gpu_job) as median_gpus,
        max(run_s) filter (where is_gpu_job) as max_run_s,
        max(gpus) filter (where is_gpu_job) as max_gpus,
        count(run_s) filter (where is_gpu_job) as gpu_jobs_with_run,
        count(held_gpu_s) filter (where is_gpu_job) as gpu_jobs_with_gpu_time,
        count(*) filter (where is_gpu_job and is_censored) as censored_gpu_jobs,
        count(*) filter (where is_gpu_job and is_known) as known_jobs,
        count(*) filter (where is_gpu_job and status = 'completed') as completed_jobs,
        count(*) filter (where is_gpu_job and status = 'cancelled') as cancelled_jobs,
        count(*) filter (where is_gpu_job and status = 'failed') as failed_jobs,
        fsum(held_gpu_s) filter (where is_gpu_job and is_known) as known_gpu_s,
        fsum(held_gpu_s) filter (where is_gpu_job and status = 'completed') as completed_gpu_s,
        fsum(held_gpu_s) filter (where is_gpu_job and status = 'cancelled') as cancelled_gpu_s,
        fsum(held_gpu_s) filter (where is_gpu_job and status = 'failed') as failed_gpu_s,
        favg(run_s) filter (where is_cpu_job) as mean_run_s_cpu,
        favg(wait_s) filter (where is_cpu_job) as mean_wait_s_cpu,
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
    -- Where outcomes are known, no cancelled job means no time in cancelled jobs; otherwise that time is unknown.
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
    failed_cpu_jobs / nullif(known_cpu_jobs, 0) as failed_share_cpu,
    gpu_jobs_with_run,
    gpu_jobs_with_gpu_time,
    censored_gpu_jobs
from counted;

comment on column unified.summary_v3.completed_gpu_s is 'GPU-seconds held by the GPU jobs that completed; NULL where no outcome is known; derived.';
comment on column unified.summary_v3.cancelled_gpu_s is 'GPU-seconds held by the GPU jobs that were cancelled; NULL where no outcome is known; derived.';
comment on column unified.summary_v3.failed_gpu_s is 'GPU-seconds held by the GPU jobs that failed; NULL where no outcome is known; derived.';
comment on column unified.summary_v3.gpu_jobs_with_run is 'GPU jobs with a known run, which the statistics of runs cover; derived.';
comment on column unified.summary_v3.gpu_jobs_with_gpu_time is 'GPU jobs with a known GPU time, which the sums of GPU time cover; derived.';
comment on column unified.summary_v3.censored_gpu_jobs is 'GPU jobs that were still running when the trace ended; derived.';
