-- Published summary compared with job files (Acme jobs)
-- caveat: acme.summary_is_rounded
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: acme.summary_gaps_and_zeros
-- resolves_caveat: acme.summary_pai_counts_tasks
-- column: cluster: Cluster, or all
-- column: measure: Name of the measure
-- column: from_summary [no unit]: The measure as published
-- column: from_jobs [no unit]: The measure over the job files
-- column: difference [no unit]: Measured minus published value, in the unit of the measure
-- chart: point x=from_summary:log y=from_jobs:log color=cluster rule=from_summary xname=published_value yname=value_of_the_job_files note=On the dashed line, both values are equal. A point is one quantity of a cluster, times in seconds.
create or replace macro acme.summary_against_jobs() as table
with clusters as (
    select
        known.place,
        known.cluster
    from (
        values
        (1, 'seren'),
        (2, 'kalos')
    ) as known (place, cluster)
),

kinds as (
    select
        cluster,
        case when requested_gpus > 0 then 'gpu' when requested_gpus = 0 then 'cpu' end as kind,
        requested_gpus,
        outcome,
        published_duration_s,
        published_queue_s,
        published_gpu_s
    from acme.job
),

-- Exact sums of doubles are expensive: sums each job three times, not once per measure.
totals as (
    select
        cluster,
        kind,
        outcome,
        count(*) as jobs,
        count(published_duration_s) as durations,
        stats.fsum(published_duration_s) as duration_s,
        count(published_queue_s) as queues,
        stats.fsum(published_queue_s) as queue_s,
        stats.fsum(published_gpu_s) as gpu_s
    from kinds
    group by cluster, kind, outcome
),

medians as (
    select
        cluster,
        kind,
        median(published_duration_s) as duration_s,
        max(published_duration_s) as longest_s,
        median(published_queue_s) as queue_s,
        avg(requested_gpus) as mean_gpus,
        median(requested_gpus) as median_gpus,
        max(requested_gpus) as most_gpus
    from kinds
    group by cluster, kind
),

-- Uses the published duration, queue and GPU time, so that only the population of jobs can differ.
kinds_of_cluster as (
    select
        cluster,
        kind,
        sum(jobs) as jobs,
        stats.fsum(duration_s) / nullif(sum(durations), 0) as mean_duration_s,
        stats.fsum(queue_s) / nullif(sum(queues), 0) as mean_queue_s,
        coalesce(sum(jobs) filter (where outcome = 'completed'), 0) / sum(jobs) as completed,
        coalesce(sum(jobs) filter (where outcome = 'cancelled'), 0) / sum(jobs) as cancelled,
        coalesce(sum(jobs) filter (where outcome = 'failed'), 0) / sum(jobs) as failed,
        coalesce(stats.fsum(case when outcome = 'completed' then gpu_s end), 0) / nullif(stats.fsum(gpu_s), 0)
        as completed_of_gpu_s,
        coalesce(stats.fsum(case when outcome = 'cancelled' then gpu_s end), 0) / nullif(stats.fsum(gpu_s), 0)
        as cancelled_of_gpu_s,
        coalesce(
            stats.fsum(case when outcome = 'failed' then gpu_s end),
            case when count(*) filter (where outcome = 'failed') = 0 then 0 end
        ) / nullif(stats.fsum(gpu_s), 0)
        as failed_of_gpu_s
    from totals
    group by cluster, kind
),

job_counts as (
    select
        cluster,
        sum(jobs) as jobs
    from kinds_of_cluster
    group by cluster
),

counted as (
    select
        clusters.cluster,
        job_counts.jobs as job_num,
        coalesce(cpu.jobs, 0) as cpu_job_num,
        coalesce(gpu.jobs, 0) as gpu_job_num,
        gpu.mean_duration_s as avg_run_time_gpu,
        gpu.mean_queue_s as avg_que_time_gpu,
        gpu_medians.mean_gpus as avg_gpu_num,
        gpu_medians.duration_s as med_run_time_gpu,
        gpu_medians.queue_s as med_que_time_gpu,
        gpu_medians.median_gpus as med_gpu_num,
        gpu_medians.longest_s as max_run_time_gpu,
        gpu_medians.most_gpus as max_gpu,
        gpu.completed as complete_rate_gpu,
        gpu.cancelled as cancel_rate_gpu,
        gpu.failed as fail_rate_gpu,
        gpu.completed_of_gpu_s as complete_rate_gpu_time,
        gpu.cancelled_of_gpu_s as cancel_rate_gpu_time,
        gpu.failed_of_gpu_s as fail_rate_gpu_time,
        cpu.mean_duration_s as avg_run_time_cpu,
        cpu.mean_queue_s as avg_que_time_cpu,
        cpu_medians.duration_s as med_run_time_cpu,
        cpu_medians.queue_s as med_que_time_cpu,
        cpu.completed as complete_rate_cpu,
        cpu.cancelled as cancel_rate_cpu,
        cpu.failed as fail_rate_cpu
    from clusters
    inner join job_counts on clusters.cluster = job_counts.cluster
    left join kinds_of_cluster as gpu on clusters.cluster = gpu.cluster and gpu.kind = 'gpu'
    left join kinds_of_cluster as cpu on clusters.cluster = cpu.cluster and cpu.kind = 'cpu'
    left join medians as gpu_medians on clusters.cluster = gpu_medians.cluster and gpu_medians.kind = 'gpu'
    left join medians as cpu_medians on clusters.cluster = cpu_medians.cluster and cpu_medians.kind = 'cpu'
),

compared as (
    select
        clusters.place,
        clusters.cluster,
        unnest([
            stats.figure(1, 'job_num', counted.job_num, summary.job_num),
            stats.figure(2, 'cpu_job_num', counted.cpu_job_num, summary.cpu_job_num),
            stats.figure(3, 'gpu_job_num', counted.gpu_job_num, summary.gpu_job_num),
            stats.figure(4, 'avg_run_time_gpu', counted.avg_run_time_gpu, summary.avg_run_time_gpu),
            stats.figure(5, 'avg_que_time_gpu', counted.avg_que_time_gpu, summary.avg_que_time_gpu),
            stats.figure(6, 'avg_gpu_num', counted.avg_gpu_num, summary.avg_gpu_num),
            stats.figure(7, 'med_run_time_gpu', counted.med_run_time_gpu, summary.med_run_time_gpu),
            stats.figure(8, 'med_que_time_gpu', counted.med_que_time_gpu, summary.med_que_time_gpu),
            stats.figure(9, 'med_gpu_num', counted.med_gpu_num, summary.med_gpu_num),
            stats.figure(10, 'max_run_time_gpu', counted.max_run_time_gpu, summary.max_run_time_gpu),
            stats.figure(11, 'max_gpu', counted.max_gpu, summary.max_gpu),
            stats.figure(12, 'complete_rate_gpu', counted.complete_rate_gpu, summary.complete_rate_gpu),
            stats.figure(13, 'cancel_rate_gpu', counted.cancel_rate_gpu, summary.cancel_rate_gpu),
            stats.figure(14, 'fail_rate_gpu', counted.fail_rate_gpu, summary.fail_rate_gpu),
            stats.figure(
                15, 'complete_rate_gpu_time', counted.complete_rate_gpu_time, summary.complete_rate_gpu_time
            ),
            stats.figure(
                16, 'cancel_rate_gpu_time', counted.cancel_rate_gpu_time, summary.cancel_rate_gpu_time
            ),
            stats.figure(17, 'fail_rate_gpu_time', counted.fail_rate_gpu_time, summary.fail_rate_gpu_time),
            stats.figure(18, 'avg_run_time_cpu', counted.avg_run_time_cpu, summary.avg_run_time_cpu),
            stats.figure(19, 'avg_que_time_cpu', counted.avg_que_time_cpu, summary.avg_que_time_cpu),
            stats.figure(20, 'med_run_time_cpu', counted.med_run_time_cpu, summary.med_run_time_cpu),
            stats.figure(21, 'med_que_time_cpu', counted.med_que_time_cpu, summary.med_que_time_cpu),
            stats.figure(22, 'complete_rate_cpu', counted.complete_rate_cpu, summary.complete_rate_cpu),
            stats.figure(23, 'cancel_rate_cpu', counted.cancel_rate_cpu, summary.cancel_rate_cpu),
            stats.figure(24, 'fail_rate_cpu', counted.fail_rate_cpu, summary.fail_rate_cpu)
        ]) as figure
    from clusters
    left join acme.cluster_summary as summary on clusters.cluster = lower(summary.id)
    left join counted on clusters.cluster = counted.cluster
)

select
    cluster,
    figure.measure,
    figure.published as from_summary,
    figure.measured as from_jobs,
    figure.measured - figure.published as difference
from compared
order by place, figure.place;

comment on macro table acme.summary_against_jobs is 'Each measure of cluster_summary.csv next to the same measure computed from the job files with the published durations, queues and GPU times. difference is the value from the job files minus the published value.';
