-- Overlap of jobs and telemetry by cluster (Acme jobs)
-- chart: bar x=cluster y=jobs_in_telemetry_pct title=Share of jobs inside the telemetry by cluster (Acme jobs)
create or replace macro acme.overlap() as table
select
    cluster,
    jobs,
    first_submit,
    last_end,
    telemetry_first,
    telemetry_last,
    jobs_in_telemetry,
    jobs_in_telemetry_pct,
    failed_jobs,
    failed_jobs_in_xid,
    joinable_on,
    not_joinable_on
from acme.job_telemetry_overlap
order by cluster;

comment on macro table acme.overlap is 'Time spans of jobs and of telemetry, jobs that ran during telemetry, and failed jobs that ended while error codes were recorded, per cluster.';
