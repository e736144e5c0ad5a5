-- GPUs that each ITP cluster's jobs would hold over time if every job started when it was submitted.
-- grain: one row per (cluster, from_s), a second in which a job of the cluster starts or ends
-- source: README of microsoft/elasticflow-traces: num_gpu over [submission_time, submission_time + duration)
-- caveat: itp.clusters_start_ragged: from_s to_s
-- caveat: itp.last_week_is_partial: from_s to_s
-- caveat: itp.load_starts_empty: offered_gpus jobs
-- caveat: itp.num_gpu_requested_or_used: offered_gpus
-- caveat: itp.offered_load_not_occupancy: from_s to_s offered_gpus
-- caveat: itp.relative_clock: from_s to_s
-- resolves_caveat: itp.clusters_differ_in_kind
-- resolves_caveat: itp.min_duration_600
create or replace view itp.offered_load_v1 as
with edges as (
    select
        source_file as cluster,
        submission_time as at_s,
        1 as jobs,
        num_gpu as gpus
    from itp.raw_job
    union all
    select
        source_file as cluster,
        submission_time + duration as at_s,
        -1 as jobs,
        -num_gpu as gpus
    from itp.raw_job
),

-- Ends and starts at the same instant are one change: a job that starts when another ends does not overlap it.
changes as (
    select
        cluster,
        at_s,
        sum(jobs) as added_jobs,
        sum(gpus) as added_gpus
    from edges
    where at_s is not null
    group by cluster, at_s
)

select
    cluster,
    at_s as from_s,
    lead(at_s) over (partition by cluster order by at_s) as to_s,
    cast(sum(added_jobs) over so_far as bigint) as jobs,
    cast(sum(added_gpus) over so_far as bigint) as offered_gpus
from changes
window so_far as (partition by cluster order by at_s rows between unbounded preceding and current row);

comment on column itp.offered_load_v1.from_s is 'Second since the start of the collection at which a job starts or ends; derived.';
comment on column itp.offered_load_v1.to_s is 'Next second at which a job starts or ends, until which the row is valid; NULL in the last row; derived.';
comment on column itp.offered_load_v1.jobs is 'Jobs between submission and submission plus run, after all that happens at from_s; derived.';
comment on column itp.offered_load_v1.offered_gpus is 'GPUs that these jobs would hold; derived.';
