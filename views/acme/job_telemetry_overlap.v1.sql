-- Jobs that ran while their cluster has telemetry, the only link between Acme's jobs and telemetry.
-- grain: one row per cluster that has jobs or telemetry
-- source: README of AcmeTrace, Job Trace and Resource Utilization
-- caveat: acme.failure_needs_a_rule: failed_jobs failed_jobs_in_xid
-- caveat: acme.no_nodes_on_jobs
-- caveat: acme.paper_counts_more_jobs: jobs jobs_in_telemetry jobs_in_telemetry_pct failed_jobs
-- caveat: acme.telemetry_covers_part: first_submit telemetry_first telemetry_last jobs_in_telemetry jobs_in_telemetry_pct failed_jobs_in_xid
-- resolves_caveat: acme.job_zones_differ
create or replace view acme.job_telemetry_overlap_v1 as
with telemetry as (
    select
        cluster,
        min(time) as first_time,
        max(time) as last_time,
        min(time) filter (where metric = 'XID_ERRORS') as xid_first_time,
        max(time) filter (where metric = 'XID_ERRORS') as xid_last_time
    from acme.telemetry_time_v1
    where device_cells > 0
    group by cluster
),

jobs as (
    select
        coalesce(job.cluster, telemetry.cluster) as cluster,
        job.cluster is not null as is_job,
        job.submit_time,
        job.start_time,
        job.end_time,
        job.state,
        telemetry.first_time,
        telemetry.last_time,
        telemetry.xid_first_time,
        telemetry.xid_last_time
    from acme.job_trace as job
    full join telemetry on job.cluster = telemetry.cluster
),

counted as (
    select
        cluster,
        count(*) filter (where is_job) as jobs,
        min(submit_time) as first_submit,
        max(end_time) as last_end,
        min(first_time) as telemetry_first,
        max(last_time) as telemetry_last,
        count(*) filter (where start_time < last_time and end_time > first_time) as jobs_in_telemetry,
        count(*) filter (where state = 'FAILED') as failed_jobs,
        count(*) filter (
            where state = 'FAILED' and end_time between xid_first_time and xid_last_time
        ) as failed_jobs_in_xid
    from jobs
    group by cluster
)

select
    cluster,
    jobs,
    first_submit,
    last_end,
    telemetry_first,
    telemetry_last,
    jobs_in_telemetry,
    100.0 * jobs_in_telemetry / nullif(jobs, 0) as jobs_in_telemetry_pct,
    failed_jobs,
    failed_jobs_in_xid,
    'cluster and time' as joinable_on,
    'node: no job names one' as not_joinable_on
from counted;

comment on column acme.job_telemetry_overlap_v1.cluster is 'Cluster: seren or kalos; measured.';
comment on column acme.job_telemetry_overlap_v1.jobs is 'Jobs, with and without GPUs; derived.';
comment on column acme.job_telemetry_overlap_v1.first_submit is 'First submission of a job; derived.';
comment on column acme.job_telemetry_overlap_v1.last_end is 'Last end of a job; derived.';
comment on column acme.job_telemetry_overlap_v1.telemetry_first is 'First time of a GPU''s or node''s telemetry; NULL where there is none; derived.';
comment on column acme.job_telemetry_overlap_v1.telemetry_last is 'Last time of a GPU''s or node''s telemetry; NULL where there is none; derived.';
comment on column acme.job_telemetry_overlap_v1.jobs_in_telemetry is 'Jobs that ran at some moment between telemetry_first and telemetry_last [jobs]; derived.';
comment on column acme.job_telemetry_overlap_v1.jobs_in_telemetry_pct is 'Share of the jobs that ran at some moment between telemetry_first and telemetry_last; derived.';
comment on column acme.job_telemetry_overlap_v1.failed_jobs is 'Jobs in state FAILED; derived.';
comment on column acme.job_telemetry_overlap_v1.failed_jobs_in_xid is 'Failed jobs that ended between the first and last time of error codes [jobs]; derived.';
comment on column acme.job_telemetry_overlap_v1.joinable_on is 'What jobs and telemetry have in common; derived.';
comment on column acme.job_telemetry_overlap_v1.not_joinable_on is 'What jobs and telemetry do not have in common; derived.';
