-- Every Acme job, with wait, run and GPU time recomputed from its timestamps beside the publisher's own.
-- grain: one row per (cluster, job_id)
-- source: README of AcmeTrace, job trace: notes 1 to 4
-- caveat: acme.kalos_duration_includes_queue: published_queue_s published_duration_s published_gpu_s published_gpu_h duration_rule
-- caveat: acme.job_zones_differ: submit_time start_time end_time
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
    -- The publisher's three classes add up to all jobs, so that a preempted one can only count as failed there.
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

comment on column acme.job_v1.cluster is 'Cluster: seren or kalos; measured.';
comment on column acme.job_v1.job_id is 'Job id, unique within a cluster; measured.';
comment on column acme.job_v1.user_id is 'User; measured.';
comment on column acme.job_v1.workload_type is 'Kind of work in LLM development, as published; measured.';
comment on column acme.job_v1.state is 'Final state, as published; measured.';
comment on column acme.job_v1.outcome is 'completed, cancelled or failed, the classes of cluster_summary.csv; TIMEOUT, NODE_FAIL and PREEMPTED count as failed; NULL where the job still ran or its state is another one; derived.';
comment on column acme.job_v1.submit_time is 'Submission; measured.';
comment on column acme.job_v1.start_time is 'Start of execution; NULL where it never started; measured.';
comment on column acme.job_v1.end_time is 'End; NULL where it had not ended; measured.';
comment on column acme.job_v1.utc_offset is 'UTC offset that the publisher wrote behind the submission; measured.';
comment on column acme.job_v1.requested_nodes is 'Nodes requested; measured.';
comment on column acme.job_v1.requested_gpus is 'GPUs requested; 0 for a CPU job; measured.';
comment on column acme.job_v1.requested_cpus is 'CPU cores requested; measured.';
comment on column acme.job_v1.wait_s is 'Seconds from submission to start; derived.';
comment on column acme.job_v1.run_s is 'Seconds from start to end; derived.';
comment on column acme.job_v1.gpu_s is 'GPU-seconds: GPUs times run; derived.';
comment on column acme.job_v1.gpu_h is 'GPU-hours: GPUs times run; derived.';
comment on column acme.job_v1.published_queue_s is 'The publisher''s queue, in seconds; derived.';
comment on column acme.job_v1.published_duration_s is 'The publisher''s duration, in seconds; on Kalos it may include the queue; derived.';
comment on column acme.job_v1.published_gpu_s is 'The publisher''s GPU time, in GPU-seconds: GPUs times its duration; derived.';
comment on column acme.job_v1.published_gpu_h is 'The publisher''s GPU time, in GPU-hours: GPUs times its duration; derived.';
comment on column acme.job_v1.duration_rule is 'What the published duration is: end - start as documented, end - submit, both where there was no wait, or neither; NULL where the job never started or had not ended; derived.';
