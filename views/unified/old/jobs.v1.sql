-- Jobs of all traces in the standard format (SWF); NULL where a trace does not record a value.
-- grain: one row per (trace, cluster, job_id): a PAI task, an ITP job, an openb pod, an Acme job
-- source: Standard Workload Format v2.2, and each publisher's README
-- caveat: pai.job_means_task_elsewhere
-- caveat: pai.gpu_counts_are_fractions: requested_gpus gpu_s
-- caveat: pai.sentinel_zero_start: submit_s wait_s run_s end_s gpu_s
-- caveat: pai.shifted_clock: submit_s wait_s run_s end_s gpu_s
-- caveat: pai.memory_gb_looks_binary: requested_memory_gib
-- caveat: pai.workload_tag_is_rare: workload
-- caveat: itp.no_wait
-- caveat: itp.min_duration_600: run_s gpu_s
-- caveat: itp.num_gpu_requested_or_used: requested_gpus allocated_gpus gpu_s
-- caveat: itp.training_columns_synthetic: workload
-- caveat: openb.not_a_snapshot: status
-- caveat: openb.running_outcome_unknown: status
-- caveat: acme.failure_needs_a_rule: status
-- caveat: acme.kalos_duration_includes_queue
create or replace view unified.jobs_v1 as
-- Some instances of an unfinished task have ended: they show when it started, not how long it ran.
with pai_runs as (
    select
        job_name,
        task_name,
        first_start_s,
        case when status in ('Terminated', 'Failed') then last_end_s end as last_end_s
    from pai.task_run_v1
),

pai as (
    select
        'pai' as trace,
        cast(null as varchar) as cluster,
        task.job_name || '/' || task.task_name as job_id,
        job."user" as user_id,
        tag."group" as group_id,
        cast(null as timestamptz) as submit_time,
        case when task.start_time > 0 then task.start_time end as submit_s,
        case when task.start_time > 0 then runs.first_start_s - task.start_time end as wait_s,
        runs.last_end_s - runs.first_start_s as run_s,
        coalesce(runs.last_end_s, case when task.end_time > 0 then task.end_time end) as end_s,
        task.inst_num * task.plan_cpu / 100.0 as requested_cpus,
        cast(null as double) as allocated_cpus,
        task.inst_num * coalesce(task.plan_gpu, 0) / 100.0 as requested_gpus,
        cast(null as double) as allocated_gpus,
        task.inst_num * task.plan_mem as requested_memory_gib,
        cast(null as double) as allocated_memory_gib,
        case task.status
            when 'Terminated' then 'completed'
            when 'Failed' then 'failed'
            else 'unknown'
        end as status,
        tag.workload,
        task.gpu_type as partition_name
    from pai.task as task
    left join pai.job as job on task.job_name = job.job_name
    left join pai.group_tag as tag on job.inst_id = tag.inst_id
    left join pai_runs as runs on task.job_name = runs.job_name and task.task_name = runs.task_name
),

itp as (
    select
        'itp' as trace,
        cluster,
        job_id,
        cast(null as varchar) as user_id,
        cast(null as varchar) as group_id,
        cast(null as timestamptz) as submit_time,
        cast(submit_s as double) as submit_s,
        cast(null as double) as wait_s,
        cast(run_s as double) as run_s,
        cast(null as double) as end_s,
        cast(null as double) as requested_cpus,
        cast(null as double) as allocated_cpus,
        cast(requested_gpus as double) as requested_gpus,
        cast(requested_gpus as double) as allocated_gpus,
        cast(null as double) as requested_memory_gib,
        cast(null as double) as allocated_memory_gib,
        'unknown' as status,
        model_name as workload,
        cluster as partition_name
    from itp.job_v1
),

-- The other variants are resampled from the default list, so their pods are not additional jobs.
openb as (
    select
        'openb' as trace,
        cast(null as varchar) as cluster,
        name as job_id,
        cast(null as varchar) as user_id,
        cast(null as varchar) as group_id,
        cast(null as timestamptz) as submit_time,
        cast(submit_s as double) as submit_s,
        cast(wait_s as double) as wait_s,
        cast(run_s as double) as run_s,
        cast(end_s as double) as end_s,
        cast(requested_cpus as double) as requested_cpus,
        cast(null as double) as allocated_cpus,
        cast(requested_gpus as double) as requested_gpus,
        cast(null as double) as allocated_gpus,
        cast(requested_memory_gib as double) as requested_memory_gib,
        cast(null as double) as allocated_memory_gib,
        case pod_phase
            when 'Succeeded' then 'completed'
            when 'Failed' then 'failed'
            else 'unknown'
        end as status,
        cast(null as varchar) as workload,
        gpu_spec as partition_name
    from openb.pod_lifecycle_v1
    where variant = 'default'
),

acme as (
    select
        'acme' as trace,
        cluster,
        job_id,
        user_id,
        cast(null as varchar) as group_id,
        submit_time,
        epoch(submit_time) as submit_s,
        wait_s,
        run_s,
        epoch(end_time) as end_s,
        cast(requested_cpus as double) as requested_cpus,
        cast(null as double) as allocated_cpus,
        cast(requested_gpus as double) as requested_gpus,
        cast(case when run_s is not null then requested_gpus end as double) as allocated_gpus,
        cast(null as double) as requested_memory_gib,
        cast(null as double) as allocated_memory_gib,
        coalesce(outcome, 'unknown') as status,
        workload_type as workload,
        cluster as partition_name
    from acme.job_v1
),

every_job as (
    select * from pai
    union all
    select * from itp
    union all
    select * from openb
    union all
    select * from acme
)

select
    trace,
    cluster,
    job_id,
    user_id,
    group_id,
    submit_time,
    submit_s,
    wait_s,
    run_s,
    end_s,
    requested_cpus,
    allocated_cpus,
    requested_gpus,
    allocated_gpus,
    requested_memory_gib,
    allocated_memory_gib,
    status,
    requested_gpus * run_s as gpu_s,
    workload,
    partition_name
from every_job;

comment on column unified.jobs_v1.trace is 'Trace that the job is from; measured.';
comment on column unified.jobs_v1.cluster is 'Cluster, if the trace distinguishes clusters; measured.';
comment on column unified.jobs_v1.job_id is 'Job within its trace and cluster; for PAI job and task, as the literature counts its jobs; measured.';
comment on column unified.jobs_v1.user_id is 'User; NULL for ITP and openb; measured.';
comment on column unified.jobs_v1.group_id is 'Group of recurring jobs; PAI alone has it; measured.';
comment on column unified.jobs_v1.submit_time is 'Submission as an instant; Acme alone has true dates; measured.';
comment on column unified.jobs_v1.submit_s is 'Submission in seconds of the trace''s own clock, see catalog.clocks; measured.';
comment on column unified.jobs_v1.wait_s is 'Seconds from submission to start; NULL for ITP, which records none, and for jobs that never started; derived.';
comment on column unified.jobs_v1.run_s is 'Seconds from start to end; for PAI from its first instance''s start to its last instance''s end, NULL while the task has not ended; derived.';
comment on column unified.jobs_v1.end_s is 'End in seconds of the trace''s own clock, also of jobs that never started; NULL for ITP, whose start is not known; derived.';
comment on column unified.jobs_v1.requested_cpus is 'CPU cores requested, all instances together; derived.';
comment on column unified.jobs_v1.allocated_cpus is 'CPU cores held while running; NULL everywhere, as no trace records them; measured.';
comment on column unified.jobs_v1.requested_gpus is 'GPUs requested, all instances together, fractions included; 0 for a CPU job; derived.';
comment on column unified.jobs_v1.allocated_gpus is 'GPUs held while running, where the published number is also the number held: ITP''s, requested or used according to its README, and Acme''s of jobs that ran to an end; measured.';
comment on column unified.jobs_v1.requested_memory_gib is 'Main memory requested in GiB, all instances together; PAI''s published GB look binary and are taken as GiB; NULL for ITP, which has none, and for Acme, where Kalos records it per pod and not per job; derived.';
comment on column unified.jobs_v1.allocated_memory_gib is 'Main memory held while running, in GiB; NULL everywhere, as no trace records it per job; measured.';
comment on column unified.jobs_v1.status is 'completed, failed, cancelled, or unknown; Acme''s TIMEOUT, NODE_FAIL and PREEMPTED count as failed; derived.';
comment on column unified.jobs_v1.gpu_s is 'GPU-seconds: requested GPUs times run; derived.';
comment on column unified.jobs_v1.workload is 'What kind of work it is: PAI''s tag, which few jobs have, Acme''s type, for ITP a model name that was drawn at random; derived.';
comment on column unified.jobs_v1.partition_name is 'Type of GPU (PAI), GPU models that will do (openb), or cluster; measured.';
