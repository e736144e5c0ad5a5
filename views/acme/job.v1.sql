-- Acme jobs, with wait, run and GPU time computed from timestamps and as published.
-- grain: one row per (cluster, job_id)
-- source: README of AcmeTrace, job trace: notes 1 to 4
-- answers: submission, wait, run, requested GPUs, calendar date
-- caveat: acme.cpu_jobs_included
-- caveat: acme.failure_needs_a_rule: state outcome
-- caveat: acme.kalos_duration_includes_queue: published_queue_s published_duration_s published_gpu_s published_gpu_h duration_rule
-- caveat: acme.paper_counts_more_jobs
-- caveat: acme.states_beyond_readme: state
-- caveat: acme.types_differ_by_cluster: workload_type
-- resolves_caveat: acme.job_zones_differ
create or replace view acme.job_v1 as
with seconds as (
    select
        cluster,
        job_id,
        "user",
        "type",
        state,
        submit_time,
        start_time,
        end_time,
        utc_offset,
        node_num,
        gpu_num,
        cpu_num,
        queue,
        duration,
        gpu_time,
        epoch(start_time) - epoch(submit_time) as wait_s,
        epoch(end_time) - epoch(start_time) as run_s,
        epoch(end_time) - epoch(submit_time) as turnaround_s
    from acme.job_trace
)

select
    cluster,
    job_id,
    "user" as user_id,
    "type" as workload_type,
    state,
    -- The publisher's three classes add up to all jobs, so preempted jobs must be among the failed ones.
    case
        when state = 'COMPLETED' then 'completed'
        when state = 'CANCELLED' then 'cancelled'
        when state in ('FAILED', 'TIMEOUT', 'NODE_FAIL', 'PREEMPTED') then 'failed'
    end as outcome,
    submit_time,
    start_time,
    end_time,
    utc_offset,
    node_num as requested_nodes,
    gpu_num as requested_gpus,
    cpu_num as requested_cpus,
    wait_s,
    run_s,
    gpu_num * run_s as gpu_s,
    gpu_num * run_s / 3600.0 as gpu_h,
    queue as published_queue_s,
    duration as published_duration_s,
    gpu_time as published_gpu_s,
    gpu_time / 3600.0 as published_gpu_h,
    case
        when run_s is null then null
        when duration = run_s and duration = turnaround_s then 'both'
        when duration = run_s then 'end - start'
        when duration = turnaround_s then 'end - submit'
        when duration is not null then 'neither'
    end as duration_rule
from seconds;

comment on column acme.job_v1.outcome is 'completed, cancelled or failed, the classes of cluster_summary.csv; TIMEOUT, NODE_FAIL and PREEMPTED count as failed; NULL if the job was still running or has another state; derived.';
comment on column acme.job_v1.start_time is 'Start of execution; NULL if it never started; measured.';
comment on column acme.job_v1.end_time is 'End; NULL if it had not ended; measured.';
comment on column acme.job_v1.requested_nodes is 'Nodes requested; measured.';
comment on column acme.job_v1.wait_s is 'Seconds from submission to start; derived.';
comment on column acme.job_v1.run_s is 'Seconds from start to end; derived.';
comment on column acme.job_v1.gpu_s is 'GPU-seconds: GPUs times run; derived.';
comment on column acme.job_v1.gpu_h is 'GPU-hours: GPUs times run; derived.';
comment on column acme.job_v1.published_gpu_s is 'The publisher''s GPU time, in GPU-seconds: GPUs times its duration; derived.';
comment on column acme.job_v1.published_gpu_h is 'The publisher''s GPU time, in GPU-hours: GPUs times its duration; derived.';
comment on column acme.job_v1.duration_rule is 'What the published duration is: end - start as documented, end - submit, both where there was no wait, or neither; NULL where the job never started or had not ended; derived.';
