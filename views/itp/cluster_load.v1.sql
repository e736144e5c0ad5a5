-- Offered load of each ITP cluster: jobs, GPU-hours, mean and peak GPUs, and simulated capacity.
-- grain: one row per cluster
-- source: README of microsoft/elasticflow-traces; the simulation scripts of pkusys/ElasticFlow for the capacities
-- caveat: itp.capacity_not_published: offered_utilization exceeds_capacity
-- caveat: itp.load_starts_empty: peak_offered_gpus peak_at_s exceeds_capacity
-- caveat: itp.num_gpu_requested_or_used: gpu_h peak_offered_gpus mean_offered_gpus offered_utilization exceeds_capacity
-- caveat: itp.offered_load_not_occupancy: gpu_h first_submit_s last_submit_s arrival_span_s last_end_s peak_offered_gpus peak_at_s mean_offered_gpus offered_utilization exceeds_capacity
-- caveat: itp.relative_clock: first_submit_s last_submit_s last_end_s peak_at_s
-- caveat: itp.small_clusters: cluster
-- resolves_caveat: itp.clusters_differ_in_kind
-- resolves_caveat: itp.clusters_start_ragged
create or replace view itp.cluster_load_v1 as
with jobs as (
    select
        source_file as cluster,
        count(*) as jobs,
        sum(num_gpu * duration) as gpu_seconds,
        min(submission_time) as first_submit_s,
        max(submission_time) as last_submit_s,
        max(submission_time + duration) as last_end_s
    from itp.raw_job
    group by source_file
),

peaks as (
    select
        cluster,
        from_s,
        offered_gpus
    from itp.offered_load_v1
    qualify row_number() over (partition by cluster order by offered_gpus desc, from_s asc) = 1
),

loads as (
    select
        jobs.cluster,
        jobs.jobs,
        jobs.gpu_seconds / 3600.0 as gpu_h,
        jobs.first_submit_s,
        jobs.last_submit_s,
        jobs.last_submit_s - jobs.first_submit_s as arrival_span_s,
        jobs.last_end_s,
        peaks.offered_gpus as peak_offered_gpus,
        peaks.from_s as peak_at_s,
        jobs.gpu_seconds / nullif(jobs.last_submit_s - jobs.first_submit_s, 0) as mean_offered_gpus,
        capacity.simulated_gpus
    from jobs
    left join peaks on jobs.cluster = peaks.cluster
    left join itp.simulated_capacity_v1 as capacity on jobs.cluster = capacity.cluster
)

select
    cluster,
    jobs,
    gpu_h,
    first_submit_s,
    last_submit_s,
    arrival_span_s,
    last_end_s,
    peak_offered_gpus,
    peak_at_s,
    mean_offered_gpus,
    simulated_gpus,
    mean_offered_gpus / nullif(simulated_gpus, 0) as offered_utilization,
    peak_offered_gpus > simulated_gpus as exceeds_capacity
from loads;

comment on column itp.cluster_load_v1.jobs is 'Jobs; derived.';
comment on column itp.cluster_load_v1.gpu_h is 'GPU-hours of all jobs; derived.';
comment on column itp.cluster_load_v1.first_submit_s is 'First submission in seconds since the start of the collection; derived.';
comment on column itp.cluster_load_v1.last_submit_s is 'Last submission in seconds since the start of the collection; derived.';
comment on column itp.cluster_load_v1.arrival_span_s is 'Seconds from the first submission to the last; derived.';
comment on column itp.cluster_load_v1.last_end_s is 'End of the job that would end last if every job had started when it was submitted; derived.';
comment on column itp.cluster_load_v1.peak_offered_gpus is 'Most GPUs that jobs would hold at once; derived.';
comment on column itp.cluster_load_v1.peak_at_s is 'Second since the start of the collection at which the peak is reached first; derived.';
comment on column itp.cluster_load_v1.mean_offered_gpus is 'GPU-seconds of all jobs over the arrival span, although the last jobs end after it; derived.';
comment on column itp.cluster_load_v1.offered_utilization is 'mean_offered_gpus over simulated_gpus, from 0 [ratio]; synthetic.';
comment on column itp.cluster_load_v1.exceeds_capacity is 'Whether the peak is more than the simulated GPUs; synthetic.';
