-- Jobs of all traces in the standard format (SWF), clipped to the time that each trace covers; NULL if not recorded.
-- grain: one row per (trace, cluster, job_id): a PAI task, an ITP, Acme, Helios, Philly or spot job, an openb pod, a DLRM instance, an ASI pod with a GPU
-- source: Standard Workload Format v2.2, and each publisher's README
-- answers: allocated GPUs, submission, requested GPUs
create or replace view unified.jobs_v2 as
select
    trace,
    cluster,
    job_id,
    user_id,
    group_id,
    submit_time,
    submit_s,
    local_submit_s,
    stats.hour_of_day(local_submit_s) as hour_of_day,
    stats.weekday(local_submit_s) as weekday,
    wait_s,
    observed_wait_s,
    observed_start_s,
    run_s,
    observed_run_s,
    end_s,
    requested_cpus,
    allocated_cpus,
    requested_gpus,
    requested_gpus_per_instance,
    case
        when requested_gpus = 0 then 'no GPU'
        when requested_gpus < 1 then 'below 1'
        when requested_gpus < 2 then '1'
        when requested_gpus < 8 then '2 to 7'
        when requested_gpus < 9 then '8'
        when requested_gpus < 64 then '9 to 63'
        when requested_gpus < 512 then '64 to 511'
        when requested_gpus >= 512 then '512 and more'
    end as size_band,
    allocated_gpus,
    requested_memory_gib,
    allocated_memory_gib,
    requested_gpus * run_s as span_gpu_s,
    held_gpu_s,
    status,
    is_right_censored,
    is_left_censored,
    workload,
    partition_name
from each_trace.standard_job_v1;

comment on column unified.jobs_v2.user_id is 'User; NULL where the trace records none, see catalog.metrics; measured.';
comment on column unified.jobs_v2.group_id is 'Group of recurring jobs (PAI), workload (ASI), organisation that pays (spot), or service (DLRM); measured.';
comment on column unified.jobs_v2.submit_time is 'Submission time in UTC, for Acme and Helios (assumed UTC+8); NULL for all other traces; derived.';
comment on column unified.jobs_v2.local_submit_s is 'Submission in seconds whose hour and weekday are local to the cluster; NULL if the trace''s clock does not give them, see catalog.clocks; derived.';
comment on column unified.jobs_v2.hour_of_day is 'Hour of the submission where the cluster is, 0 to 23; NULL if the trace''s clock does not give it [no unit]; derived.';
comment on column unified.jobs_v2.weekday is 'Day of the week of the submission where the cluster is, 1 Monday to 7 Sunday; NULL if the trace''s clock does not give it [no unit]; derived.';
comment on column unified.jobs_v2.wait_s is 'Seconds from submission to start, for PAI from the start of the task to that of its first instance; NULL where the trace records no starts, see catalog.metrics, for jobs that never started, and for left-censored jobs; derived.';
comment on column unified.jobs_v2.observed_wait_s is 'Seconds that the job was seen waiting: wait_s, or for a job without a start the time to its withdrawal or to the end of the trace, a lower bound of the wait; NULL if unknown or left-censored; derived.';
comment on column unified.jobs_v2.observed_start_s is 'First second at which the job is seen running, on the trace''s own clock: its start, or the beginning of the trace if it ran before; NULL if it never started or the trace records no starts (ITP, spot); derived.';
comment on column unified.jobs_v2.run_s is 'Seconds from start to end, of runs seen from start to end only; for PAI from its first instance''s start to its last instance''s end, for Philly with the waits between its attempts; derived.';
comment on column unified.jobs_v2.observed_run_s is 'Seconds that the job was seen running: run_s, or for a censored job the part in the trace, a lower bound of the run; for jobs of PAI and Philly without an end, up to their last known time; NULL if it never started or nothing is known; derived.';
comment on column unified.jobs_v2.end_s is 'End in seconds of the trace''s own clock, also of jobs that never started; NULL where the trace records no starts, and for jobs cut off by the end of the trace; derived.';
comment on column unified.jobs_v2.requested_gpus is 'GPUs requested, all instances together, fractions included; for Philly those used, for ITP requested or used (its README does not say which); 0 for a CPU job, NULL if not recorded; derived.';
comment on column unified.jobs_v2.requested_gpus_per_instance is 'GPUs that each instance requests, for PAI; all that the job requests elsewhere [GPUs]; derived.';
comment on column unified.jobs_v2.size_band is 'Band of requested_gpus, a fraction between two bands belongs to the lower one: no GPU, below 1, 1, 2 to 7, 8, 9 to 63, 64 to 511, 512 and more; derived.';
comment on column unified.jobs_v2.allocated_gpus is 'GPUs held while running. Known for ITP (requested or used, by its README), Acme''s jobs that ran to an end, ASI''s pods that held GPUs, and Philly''s first attempts; NULL for all other traces; measured.';
comment on column unified.jobs_v2.requested_memory_gib is 'Main memory requested in GiB, all instances together; PAI''s published GB look binary and are taken as GiB; NULL where the trace records none per job, as in Acme, where Kalos records it per pod; derived.';
comment on column unified.jobs_v2.span_gpu_s is 'Requested GPUs times run_s; derived.';
comment on column unified.jobs_v2.held_gpu_s is 'GPU-seconds held while the trace was recorded, including jobs cut off at its start or end and runs of an instance again; derived.';
comment on column unified.jobs_v2.status is 'completed, failed, cancelled, preempted, or unknown; TIMEOUT and NODE_FAIL, of Acme and Helios, count as failed; derived.';
comment on column unified.jobs_v2.is_right_censored is 'Whether the job was still running when it was last seen, as a rule at the end of the trace; NULL if the trace does not record it; derived.';
comment on column unified.jobs_v2.is_left_censored is 'Whether the job was submitted or started before the trace began, so that its wait or its start is unknown; false where a trace has no such jobs, NULL where it does not say (spot, at second 0); derived.';
comment on column unified.jobs_v2.workload is 'What kind of work it is: PAI''s tag, which few jobs have, Acme''s type, ASI''s kind of job, recommendation for DLRM, for ITP a model name that was drawn at random; derived.';
comment on column unified.jobs_v2.partition_name is 'Type of GPU (PAI, spot), GPU models that will do (openb), virtual cluster (Helios, Philly), GPU model of the server (ASI), kind of node (DLRM), or cluster; measured.';
