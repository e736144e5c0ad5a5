-- Jobs of cluster02 that ElasticFlow ran on its testbed, with the model and deadline generated there (ITP).
-- grain: one row per job of 195job
-- source: README of microsoft/elasticflow-traces, Schema for elasticflow-traces; tightness as in its ElasticFlow simulation
-- caveat: itp.deadline_synthetic: deadline_s slack_s tightness is_feasible_as_requested needed_speedup generated_differs
-- caveat: itp.job_id_not_unique
-- caveat: itp.min_duration_600: run_s gpu_h iterations_per_s slack_s tightness is_feasible_as_requested needed_speedup
-- caveat: itp.no_wait: submit_s slack_s is_feasible_as_requested needed_speedup
-- caveat: itp.num_gpu_requested_or_used: requested_gpus gpu_h
-- caveat: itp.relative_clock: submit_s deadline_s
-- caveat: itp.training_columns_synthetic: model_name batch_size num_iteration iterations_per_s generated_differs
create or replace view itp.testbed_job_v1 as
with testbed as (
    select
        job_id,
        submission_time,
        duration,
        num_gpu,
        model_name,
        batch_size,
        num_iteration,
        deadline
    from itp.elasticflow_job
    where source_file = '195job'
),

collected as (
    select distinct
        job_id,
        submission_time,
        duration,
        num_gpu
    from itp.raw_job
    where source_file = 'cluster02'
),

generated as (
    select
        job_id,
        model_name,
        batch_size,
        num_iteration,
        deadline
    from itp.elasticflow_job
    where source_file = 'cluster02'
)

select
    testbed.job_id,
    testbed.submission_time as submit_s,
    testbed.duration as run_s,
    testbed.num_gpu as requested_gpus,
    testbed.num_gpu * testbed.duration / 3600.0 as gpu_h,
    testbed.model_name,
    testbed.batch_size,
    testbed.num_iteration,
    testbed.num_iteration / nullif(testbed.duration, 0) as iterations_per_s,
    testbed.deadline as deadline_s,
    testbed.deadline - testbed.submission_time - testbed.duration as slack_s,
    (testbed.deadline - testbed.submission_time) / nullif(testbed.duration, 0) as tightness,
    testbed.deadline - testbed.submission_time >= testbed.duration as is_feasible_as_requested,
    testbed.duration / nullif(testbed.deadline - testbed.submission_time, 0) as needed_speedup,
    collected.job_id is not null as is_in_cluster02,
    testbed.model_name <> generated.model_name
    or testbed.batch_size <> generated.batch_size
    or testbed.num_iteration <> generated.num_iteration
    or testbed.deadline <> generated.deadline as generated_differs
from testbed
left join collected
    on
        testbed.job_id = collected.job_id
        and testbed.submission_time = collected.submission_time
        and testbed.duration = collected.duration
        and testbed.num_gpu = collected.num_gpu
left join generated on testbed.job_id = generated.job_id;

comment on column itp.testbed_job_v1.job_id is 'Job id; the same job has it in cluster02; measured.';
comment on column itp.testbed_job_v1.gpu_h is 'GPU-hours: GPUs times run; derived.';
comment on column itp.testbed_job_v1.iterations_per_s is 'Iterations per second, from the generated iterations and the run [iterations per s]; synthetic.';
comment on column itp.testbed_job_v1.slack_s is 'Seconds between the end of a run started at submission and the deadline; negative where it cannot be met; synthetic.';
comment on column itp.testbed_job_v1.tightness is 'Time from submission to deadline over run; below 1, the requested GPUs are too few [ratio]; synthetic.';
comment on column itp.testbed_job_v1.is_feasible_as_requested is 'Whether a run started at submission meets the deadline; synthetic.';
comment on column itp.testbed_job_v1.needed_speedup is 'How many times faster than on the requested GPUs the job must run to meet its deadline [ratio]; synthetic.';
comment on column itp.testbed_job_v1.is_in_cluster02 is 'Whether cluster02 has a job of the same id, submission, run and GPUs; derived.';
comment on column itp.testbed_job_v1.generated_differs is 'Whether model, batch size, iterations or deadline differ from those generated for this job of cluster02; NULL if none were generated there; synthetic.';
