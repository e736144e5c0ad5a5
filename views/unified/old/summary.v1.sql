-- Clusters in the layout of the table that compares Acme with Philly, Helios and PAI, computed from their
-- jobs.
-- grain: one row per (trace, cluster); a trace that does not distinguish its clusters has one row
-- source: AcmeTrace, data/cluster_summary.csv, for the layout
-- caveat: pai.plan_is_per_instance: mean_gpus median_gpus max_gpus
-- Version 2 gives the same rows.
create or replace view unified.summary_v1 as
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
    completed_share,
    cancelled_share,
    failed_share,
    completed_gpu_s,
    cancelled_gpu_s,
    failed_gpu_s,
    completed_gpu_time_share,
    cancelled_gpu_time_share,
    failed_gpu_time_share,
    mean_run_s_cpu,
    mean_wait_s_cpu,
    median_run_s_cpu,
    median_wait_s_cpu,
    completed_share_cpu,
    cancelled_share_cpu,
    failed_share_cpu
from unified.summary_v2;

comment on column unified.summary_v1.trace is 'Trace; measured.';
comment on column unified.summary_v1.jobs is 'Jobs; for PAI tasks, for openb the pods of the default list; derived.';
comment on column unified.summary_v1.cpu_jobs is 'Jobs that request no GPU; derived.';
comment on column unified.summary_v1.gpu_jobs is 'Jobs that request a GPU or a part of one; derived.';
comment on column unified.summary_v1.mean_run_s is 'Mean run of GPU jobs in seconds; derived.';
comment on column unified.summary_v1.mean_wait_s is 'Mean wait of GPU jobs in seconds; NULL for ITP, which records none; derived.';
comment on column unified.summary_v1.mean_gpus is 'Mean of the GPUs that a GPU job requests; PAI''s per instance; derived.';
comment on column unified.summary_v1.median_run_s is 'Median run of GPU jobs in seconds; derived.';
comment on column unified.summary_v1.median_wait_s is 'Median wait of GPU jobs in seconds; derived.';
comment on column unified.summary_v1.median_gpus is 'Median of the GPUs that a GPU job requests; PAI''s per instance; derived.';
comment on column unified.summary_v1.max_run_s is 'Longest run of a GPU job in seconds; derived.';
comment on column unified.summary_v1.max_gpus is 'Most GPUs that a GPU job requests; PAI''s per instance; derived.';
comment on column unified.summary_v1.completed_share is 'Share of the GPU jobs that completed, of those whose outcome is known, from 0 to 1; derived.';
comment on column unified.summary_v1.cancelled_share is 'Share of the GPU jobs that were cancelled, of those whose outcome is known, from 0 to 1; derived.';
comment on column unified.summary_v1.failed_share is 'Share of the GPU jobs that failed, of those whose outcome is known, from 0 to 1; derived.';
comment on column unified.summary_v1.completed_gpu_s is 'GPU-seconds of the GPU jobs that completed; NULL where no outcome is known; derived.';
comment on column unified.summary_v1.cancelled_gpu_s is 'GPU-seconds of the GPU jobs that were cancelled; NULL where no outcome is known; derived.';
comment on column unified.summary_v1.failed_gpu_s is 'GPU-seconds of the GPU jobs that failed; NULL where no outcome is known; derived.';
comment on column unified.summary_v1.completed_gpu_time_share is 'Share of the GPU time that is in jobs that completed, of those whose outcome is known, from 0 to 1; derived.';
comment on column unified.summary_v1.cancelled_gpu_time_share is 'Share of the GPU time that is in jobs that were cancelled, of those whose outcome is known, from 0 to 1; derived.';
comment on column unified.summary_v1.failed_gpu_time_share is 'Share of the GPU time that is in jobs that failed, of those whose outcome is known, from 0 to 1; derived.';
comment on column unified.summary_v1.mean_run_s_cpu is 'Mean run of CPU jobs in seconds [s]; derived.';
comment on column unified.summary_v1.mean_wait_s_cpu is 'Mean wait of CPU jobs in seconds [s]; derived.';
comment on column unified.summary_v1.median_run_s_cpu is 'Median run of CPU jobs in seconds [s]; derived.';
comment on column unified.summary_v1.median_wait_s_cpu is 'Median wait of CPU jobs in seconds [s]; derived.';
comment on column unified.summary_v1.completed_share_cpu is 'Share of the CPU jobs that completed, of those whose outcome is known, from 0 to 1 [ratio]; derived.';
comment on column unified.summary_v1.cancelled_share_cpu is 'Share of the CPU jobs that were cancelled, of those whose outcome is known, from 0 to 1 [ratio]; derived.';
comment on column unified.summary_v1.failed_share_cpu is 'Share of the CPU jobs that failed, of those whose outcome is known, from 0 to 1 [ratio]; derived.';
