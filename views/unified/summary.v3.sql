-- Clusters in the layout of the table that compares Acme with Philly, Helios and PAI, computed from their
-- jobs.
-- grain: one row per (trace, cluster), and one with the cluster all for a trace with several; one row for a trace with none
-- source: AcmeTrace, data/cluster_summary.csv, for the layout
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.standby_counts_twice
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: openb.deletion_never_empty
-- resolves_caveat: spot.no_start
-- materialize: parquet
-- Differs from version 2 in the traces that it covers, the rows of whole traces, preempted jobs, which have not failed,
-- and the GPU time held, which includes that of censored jobs inside the trace.
create or replace view unified.summary_v3 as
-- GPUs per instance for PAI, as in the published table: so its mean is under 1 and its largest job has 8.
with jobs as (
    select
        trace,
        cluster,
        wait_s,
        run_s,
        held_gpu_s,
        is_right_censored,
        is_left_censored,
        status,
        requested_gpus > 0 as is_gpu_job,
        requested_gpus = 0 as is_cpu_job,
        status <> 'unknown' as is_known,
        requested_gpus_per_instance as gpus
    from unified.jobs_v2
),

clusters as (
    select distinct
        trace,
        cluster
    from jobs
),

several as (
    select trace
    from clusters
    group by trace
    having count(*) > 1
),

-- The medians of a trace cannot be computed from those of its clusters, so each job is in both groups.
parts as (
    select
        trace,
        cluster,
        cluster as part
    from clusters
    union all
    select
        clusters.trace,
        clusters.cluster,
        'all' as part
    from clusters
    semi join several on clusters.trace = several.trace
),

counted_jobs as (
    select
        jobs.*,
        parts.part
    from jobs
    inner join parts on jobs.trace = parts.trace and jobs.cluster is not distinct from parts.cluster
),

counted as (
    select
        trace,
        part as cluster,
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
        count(run_s) filter (where is_gpu_job) as gpu_jobs_with_run,
        count(held_gpu_s) filter (where is_gpu_job) as gpu_jobs_with_gpu_time,
        case
            when count(is_right_censored) = count(*)
                then count(*) filter (where is_gpu_job and is_right_censored)
        end as censored_gpu_jobs,
        case
            when count(is_left_censored) = count(*)
                then count(*) filter (where is_gpu_job and is_left_censored)
        end as left_censored_gpu_jobs,
        count(*) filter (where is_gpu_job and is_known) as known_jobs,
        count(*) filter (where is_gpu_job and status = 'completed') as completed_jobs,
        count(*) filter (where is_gpu_job and status = 'cancelled') as cancelled_jobs,
        count(*) filter (where is_gpu_job and status = 'failed') as failed_jobs,
        count(*) filter (where is_gpu_job and status = 'preempted') as preempted_jobs,
        stats.fsum(case when is_gpu_job and is_known then held_gpu_s end) as known_gpu_s,
        stats.fsum(case when is_gpu_job and status = 'completed' then held_gpu_s end) as completed_gpu_s,
        stats.fsum(case when is_gpu_job and status = 'cancelled' then held_gpu_s end) as cancelled_gpu_s,
        stats.fsum(case when is_gpu_job and status = 'failed' then held_gpu_s end) as failed_gpu_s,
        stats.fsum(case when is_gpu_job and status = 'preempted' then held_gpu_s end) as preempted_gpu_s,
        stats.favg(case when is_cpu_job then run_s end) as mean_run_s_cpu,
        stats.favg(case when is_cpu_job then wait_s end) as mean_wait_s_cpu,
        median(run_s) filter (where is_cpu_job) as median_run_s_cpu,
        median(wait_s) filter (where is_cpu_job) as median_wait_s_cpu,
        count(*) filter (where is_cpu_job and is_known) as known_cpu_jobs,
        count(*) filter (where is_cpu_job and status = 'completed') as completed_cpu_jobs,
        count(*) filter (where is_cpu_job and status = 'cancelled') as cancelled_cpu_jobs,
        count(*) filter (where is_cpu_job and status = 'failed') as failed_cpu_jobs,
        count(*) filter (where is_cpu_job and status = 'preempted') as preempted_cpu_jobs
    from counted_jobs
    group by trace, part
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
    preempted_jobs / nullif(known_jobs, 0) as preempted_share,
    -- No failed job means no time in failed jobs. If jobs failed and no time of any is known, or if no outcome is known,
    -- that time is unknown. A cancelled job without a time may never have run.
    coalesce(completed_gpu_s, case when completed_jobs = 0 then 0 * known_gpu_s end) as completed_gpu_s,
    coalesce(cancelled_gpu_s, 0 * known_gpu_s) as cancelled_gpu_s,
    coalesce(failed_gpu_s, case when failed_jobs = 0 then 0 * known_gpu_s end) as failed_gpu_s,
    coalesce(preempted_gpu_s, case when preempted_jobs = 0 then 0 * known_gpu_s end) as preempted_gpu_s,
    coalesce(completed_gpu_s, case when completed_jobs = 0 then 0 end) / nullif(known_gpu_s, 0)
        as completed_gpu_time_share,
    coalesce(cancelled_gpu_s, 0) / nullif(known_gpu_s, 0) as cancelled_gpu_time_share,
    coalesce(failed_gpu_s, case when failed_jobs = 0 then 0 end) / nullif(known_gpu_s, 0)
        as failed_gpu_time_share,
    coalesce(preempted_gpu_s, case when preempted_jobs = 0 then 0 end) / nullif(known_gpu_s, 0)
        as preempted_gpu_time_share,
    mean_run_s_cpu,
    mean_wait_s_cpu,
    median_run_s_cpu,
    median_wait_s_cpu,
    completed_cpu_jobs / nullif(known_cpu_jobs, 0) as completed_share_cpu,
    cancelled_cpu_jobs / nullif(known_cpu_jobs, 0) as cancelled_share_cpu,
    failed_cpu_jobs / nullif(known_cpu_jobs, 0) as failed_share_cpu,
    preempted_cpu_jobs / nullif(known_cpu_jobs, 0) as preempted_share_cpu,
    gpu_jobs_with_run,
    gpu_jobs_with_gpu_time,
    censored_gpu_jobs,
    left_censored_gpu_jobs
from counted;

comment on column unified.summary_v3.cluster is 'Cluster, if the trace distinguishes clusters; all for all of them together; measured.';
comment on column unified.summary_v3.gpu_jobs_with_run is 'GPU jobs whose run was seen whole, which the statistics of runs cover [jobs]; derived.';
comment on column unified.summary_v3.gpu_jobs_with_gpu_time is 'GPU jobs with a known GPU time, which the sums of GPU time cover [jobs]; derived.';
comment on column unified.summary_v3.censored_gpu_jobs is 'GPU jobs that the end of the trace cuts off; NULL if the trace does not say; derived.';
comment on column unified.summary_v3.left_censored_gpu_jobs is 'GPU jobs that the beginning of the trace cuts off; NULL if the trace does not say; derived.';
comment on column unified.summary_v3.completed_gpu_s is 'GPU-seconds held by the GPU jobs that completed; NULL where no outcome or no GPU time of such a job is known; derived.';
comment on column unified.summary_v3.cancelled_gpu_s is 'GPU-seconds held by the GPU jobs that were cancelled, 0 if none of them ran; NULL where no outcome is known; derived.';
comment on column unified.summary_v3.failed_gpu_s is 'GPU-seconds held by the GPU jobs that failed, preempted ones not included; NULL where no outcome or no GPU time of such a job is known; derived.';
comment on column unified.summary_v3.preempted_gpu_s is 'GPU-seconds held by the GPU jobs that were preempted; NULL where no outcome or no GPU time of such a job is known; derived.';
comment on column unified.summary_v3.failed_share is 'Share of the GPU jobs of known outcome that failed, preempted ones not included; derived.';
comment on column unified.summary_v3.preempted_share is 'Share of the GPU jobs of known outcome that were preempted; derived.';
comment on column unified.summary_v3.failed_gpu_time_share is 'Share of the GPU time of known outcome that failed jobs held, preempted ones not included; derived.';
comment on column unified.summary_v3.preempted_gpu_time_share is 'Share of the GPU time of known outcome that preempted jobs held; derived.';
comment on column unified.summary_v3.failed_share_cpu is 'Share of the CPU jobs of known outcome that failed, preempted ones not included [ratio]; derived.';
comment on column unified.summary_v3.preempted_share_cpu is 'Share of the CPU jobs of known outcome that were preempted [ratio]; derived.';
