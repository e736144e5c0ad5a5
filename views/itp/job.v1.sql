-- ITP jobs: run, GPUs, and how tight the generated deadline is.
-- grain: one row per (cluster, job_id); the jobs of 195job, a selection from cluster02, are not repeated
-- source: README of microsoft/elasticflow-traces; tightness as in its ElasticFlow simulation
-- answers: submission, run, requested GPUs
-- caveat: itp.clusters_differ_in_kind: requested_gpus
-- caveat: itp.clusters_start_ragged: submit_s
-- caveat: itp.deadline_synthetic: deadline_s slack_s tightness is_feasible_as_requested needed_speedup
-- caveat: itp.gpu_hours_are_concentrated: gpu_h
-- caveat: itp.last_week_is_partial: submit_s
-- caveat: itp.load_starts_empty: submit_s
-- caveat: itp.min_duration_600: run_s gpu_h slack_s
-- caveat: itp.no_wait: submit_s slack_s is_feasible_as_requested needed_speedup
-- caveat: itp.num_gpu_requested_or_used: requested_gpus gpu_h
-- caveat: itp.relative_clock: submit_s deadline_s
-- caveat: itp.small_clusters: cluster
-- caveat: itp.training_columns_synthetic: model_name batch_size num_iteration iterations_per_s
-- resolves_caveat: itp.job_id_not_unique
create or replace view itp.job_v1 as
with generated as (
    select
        source_file,
        job_id,
        model_name,
        batch_size,
        num_iteration,
        deadline
    from itp.elasticflow_job
)

select
    raw.source_file as cluster,
    raw.job_id,
    raw.submission_time as submit_s,
    raw.duration as run_s,
    raw.num_gpu as requested_gpus,
    raw.num_gpu * raw.duration / 3600.0 as gpu_h,
    generated.model_name,
    generated.batch_size,
    generated.num_iteration,
    generated.num_iteration / nullif(raw.duration, 0) as iterations_per_s,
    generated.deadline as deadline_s,
    generated.deadline - raw.submission_time - raw.duration as slack_s,
    (generated.deadline - raw.submission_time) / nullif(raw.duration, 0) as tightness,
    generated.deadline - raw.submission_time >= raw.duration as is_feasible_as_requested,
    raw.duration / nullif(generated.deadline - raw.submission_time, 0) as needed_speedup
from itp.raw_job as raw
left join generated on raw.source_file = generated.source_file and raw.job_id = generated.job_id;

comment on column itp.job_v1.gpu_h is 'GPU-hours: GPUs times run; derived.';
comment on column itp.job_v1.iterations_per_s is 'Iterations per second, from the generated iterations and the run [iterations per s]; synthetic.';
comment on column itp.job_v1.slack_s is 'Seconds between the end of a run started at submission and the deadline; negative where it cannot be met; synthetic.';
comment on column itp.job_v1.tightness is 'Time from submission to deadline over run; below 1, the requested GPUs are too few [ratio]; synthetic.';
comment on column itp.job_v1.is_feasible_as_requested is 'Whether a run started at submission meets the deadline; synthetic.';
comment on column itp.job_v1.needed_speedup is 'How many times faster than on the requested GPUs the job must run to meet its deadline [ratio]; synthetic.';
