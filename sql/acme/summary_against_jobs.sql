-- Does Acme's published summary follow from its job files?
-- caveat: acme.paper_counts_more_jobs
-- caveat: acme.summary_does_not_reproduce
-- caveat: acme.summary_is_rounded
-- caveat: acme.failure_needs_a_rule
-- chart: point x=from_summary:log y=from_jobs:log color=cluster
create or replace macro acme.summary_against_jobs() as table
with measures as (
    select
        known.place,
        known.measure
    from (
        values
        (1, 'job_num'),
        (2, 'cpu_job_num'),
        (3, 'gpu_job_num'),
        (4, 'avg_run_time_gpu'),
        (5, 'avg_que_time_gpu'),
        (6, 'avg_gpu_num'),
        (7, 'med_run_time_gpu'),
        (8, 'med_que_time_gpu'),
        (9, 'med_gpu_num'),
        (10, 'max_run_time_gpu'),
        (11, 'max_gpu'),
        (12, 'complete_rate_gpu'),
        (13, 'cancel_rate_gpu'),
        (14, 'fail_rate_gpu'),
        (15, 'complete_rate_gpu_time'),
        (16, 'cancel_rate_gpu_time'),
        (17, 'fail_rate_gpu_time'),
        (18, 'avg_run_time_cpu'),
        (19, 'avg_que_time_cpu'),
        (20, 'med_run_time_cpu'),
        (21, 'med_que_time_cpu'),
        (22, 'complete_rate_cpu'),
        (23, 'cancel_rate_cpu'),
        (24, 'fail_rate_cpu')
    ) as known (place, measure)
),

clusters as (
    select
        known.place,
        known.cluster
    from (
        values
        (1, 'seren'),
        (2, 'kalos')
    ) as known (place, cluster)
),

-- By the publisher's own duration, queue and GPU time, so that what is compared is the population.
counted as (
    select
        cluster,
        count(*) as job_num,
        count(*) filter (where requested_gpus = 0) as cpu_job_num,
        count(*) filter (where requested_gpus > 0) as gpu_job_num,
        favg(published_duration_s) filter (where requested_gpus > 0) as avg_run_time_gpu,
        favg(published_queue_s) filter (where requested_gpus > 0) as avg_que_time_gpu,
        avg(requested_gpus) filter (where requested_gpus > 0) as avg_gpu_num,
        median(published_duration_s) filter (where requested_gpus > 0) as med_run_time_gpu,
        median(published_queue_s) filter (where requested_gpus > 0) as med_que_time_gpu,
        median(requested_gpus) filter (where requested_gpus > 0) as med_gpu_num,
        max(published_duration_s) filter (where requested_gpus > 0) as max_run_time_gpu,
        max(requested_gpus) filter (where requested_gpus > 0) as max_gpu,
        count(*) filter (where requested_gpus > 0 and outcome = 'completed')
        / nullif(count(*) filter (where requested_gpus > 0), 0) as complete_rate_gpu,
        count(*) filter (where requested_gpus > 0 and outcome = 'cancelled')
        / nullif(count(*) filter (where requested_gpus > 0), 0) as cancel_rate_gpu,
        count(*) filter (where requested_gpus > 0 and outcome = 'failed')
        / nullif(count(*) filter (where requested_gpus > 0), 0) as fail_rate_gpu,
        coalesce(fsum(published_gpu_s) filter (where requested_gpus > 0 and outcome = 'completed'), 0)
        / nullif(fsum(published_gpu_s) filter (where requested_gpus > 0), 0) as complete_rate_gpu_time,
        coalesce(fsum(published_gpu_s) filter (where requested_gpus > 0 and outcome = 'cancelled'), 0)
        / nullif(fsum(published_gpu_s) filter (where requested_gpus > 0), 0) as cancel_rate_gpu_time,
        coalesce(fsum(published_gpu_s) filter (where requested_gpus > 0 and outcome = 'failed'), 0)
        / nullif(fsum(published_gpu_s) filter (where requested_gpus > 0), 0) as fail_rate_gpu_time,
        favg(published_duration_s) filter (where requested_gpus = 0) as avg_run_time_cpu,
        favg(published_queue_s) filter (where requested_gpus = 0) as avg_que_time_cpu,
        median(published_duration_s) filter (where requested_gpus = 0) as med_run_time_cpu,
        median(published_queue_s) filter (where requested_gpus = 0) as med_que_time_cpu,
        count(*) filter (where requested_gpus = 0 and outcome = 'completed')
        / nullif(count(*) filter (where requested_gpus = 0), 0) as complete_rate_cpu,
        count(*) filter (where requested_gpus = 0 and outcome = 'cancelled')
        / nullif(count(*) filter (where requested_gpus = 0), 0) as cancel_rate_cpu,
        count(*) filter (where requested_gpus = 0 and outcome = 'failed')
        / nullif(count(*) filter (where requested_gpus = 0), 0) as fail_rate_cpu
    from acme.job
    group by cluster
),

beside as (
    select
        clusters.place as cluster_place,
        clusters.cluster,
        measures.place as measure_place,
        measures.measure,
        case measures.measure
            when 'job_num' then summary.job_num
            when 'cpu_job_num' then summary.cpu_job_num
            when 'gpu_job_num' then summary.gpu_job_num
            when 'avg_run_time_gpu' then summary.avg_run_time_gpu
            when 'avg_que_time_gpu' then summary.avg_que_time_gpu
            when 'avg_gpu_num' then summary.avg_gpu_num
            when 'med_run_time_gpu' then summary.med_run_time_gpu
            when 'med_que_time_gpu' then summary.med_que_time_gpu
            when 'med_gpu_num' then summary.med_gpu_num
            when 'max_run_time_gpu' then summary.max_run_time_gpu
            when 'max_gpu' then summary.max_gpu
            when 'complete_rate_gpu' then summary.complete_rate_gpu
            when 'cancel_rate_gpu' then summary.cancel_rate_gpu
            when 'fail_rate_gpu' then summary.fail_rate_gpu
            when 'complete_rate_gpu_time' then summary.complete_rate_gpu_time
            when 'cancel_rate_gpu_time' then summary.cancel_rate_gpu_time
            when 'fail_rate_gpu_time' then summary.fail_rate_gpu_time
            when 'avg_run_time_cpu' then summary.avg_run_time_cpu
            when 'avg_que_time_cpu' then summary.avg_que_time_cpu
            when 'med_run_time_cpu' then summary.med_run_time_cpu
            when 'med_que_time_cpu' then summary.med_que_time_cpu
            when 'complete_rate_cpu' then summary.complete_rate_cpu
            when 'cancel_rate_cpu' then summary.cancel_rate_cpu
            when 'fail_rate_cpu' then summary.fail_rate_cpu
        end as from_summary,
        case measures.measure
            when 'job_num' then counted.job_num
            when 'cpu_job_num' then counted.cpu_job_num
            when 'gpu_job_num' then counted.gpu_job_num
            when 'avg_run_time_gpu' then counted.avg_run_time_gpu
            when 'avg_que_time_gpu' then counted.avg_que_time_gpu
            when 'avg_gpu_num' then counted.avg_gpu_num
            when 'med_run_time_gpu' then counted.med_run_time_gpu
            when 'med_que_time_gpu' then counted.med_que_time_gpu
            when 'med_gpu_num' then counted.med_gpu_num
            when 'max_run_time_gpu' then counted.max_run_time_gpu
            when 'max_gpu' then counted.max_gpu
            when 'complete_rate_gpu' then counted.complete_rate_gpu
            when 'cancel_rate_gpu' then counted.cancel_rate_gpu
            when 'fail_rate_gpu' then counted.fail_rate_gpu
            when 'complete_rate_gpu_time' then counted.complete_rate_gpu_time
            when 'cancel_rate_gpu_time' then counted.cancel_rate_gpu_time
            when 'fail_rate_gpu_time' then counted.fail_rate_gpu_time
            when 'avg_run_time_cpu' then counted.avg_run_time_cpu
            when 'avg_que_time_cpu' then counted.avg_que_time_cpu
            when 'med_run_time_cpu' then counted.med_run_time_cpu
            when 'med_que_time_cpu' then counted.med_que_time_cpu
            when 'complete_rate_cpu' then counted.complete_rate_cpu
            when 'cancel_rate_cpu' then counted.cancel_rate_cpu
            when 'fail_rate_cpu' then counted.fail_rate_cpu
        end as from_jobs
    from clusters
    cross join measures
    left join acme.cluster_summary as summary on clusters.cluster = lower(summary.id)
    left join counted on clusters.cluster = counted.cluster
)

select
    cluster,
    measure,
    from_summary,
    from_jobs,
    from_jobs - from_summary as difference
from beside
order by cluster_place, measure_place;

comment on macro table acme.summary_against_jobs is 'Each measure of cluster_summary.csv beside the same one of the job files, by the published durations, queues and GPU times; difference is how much more the job files have.';
