-- Published and measured workload summary (all traces)
-- caveat: acme.kalos_duration_includes_queue
-- caveat: acme.summary_is_rounded
-- resolves_caveat: acme.summary_pai_counts_tasks
-- resolves_caveat: asi.delays_below_a_day
-- resolves_caveat: asi.pods_not_jobs
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: pai.plan_is_per_instance
-- column: measure: Name of the measure
-- column: measured [no unit]: The measure over the jobs here
-- column: published [no unit]: The measure as published
-- column: difference [no unit]: Measured minus published value, in the unit of the measure
-- chart: point x=published:log y=measured:log color=trace rule=published note=A point is a quantity of a cluster, in its own unit.
create or replace macro unified.summary_against_published(in_trace varchar := null) as table
with measures as (
    select
        known.place,
        known.measure
    from (
        values
        (1, 'jobs'),
        (2, 'cpu_jobs'),
        (3, 'gpu_jobs'),
        (4, 'mean_run_s'),
        (5, 'mean_wait_s'),
        (6, 'mean_gpus'),
        (7, 'median_run_s'),
        (8, 'median_wait_s'),
        (9, 'median_gpus'),
        (10, 'max_run_s'),
        (11, 'max_gpus'),
        (12, 'completed_share'),
        (13, 'cancelled_share'),
        (14, 'failed_or_preempted_share'),
        (15, 'completed_gpu_s'),
        (16, 'cancelled_gpu_s'),
        (17, 'failed_or_preempted_gpu_s'),
        (18, 'completed_gpu_time_share'),
        (19, 'cancelled_gpu_time_share'),
        (20, 'failed_or_preempted_gpu_time_share'),
        (21, 'mean_run_s_cpu'),
        (22, 'mean_wait_s_cpu'),
        (23, 'median_run_s_cpu'),
        (24, 'median_wait_s_cpu'),
        (25, 'completed_share_cpu'),
        (26, 'cancelled_share_cpu'),
        (27, 'failed_or_preempted_share_cpu')
    ) as known (place, measure)
),

compared as (
    select
        summary.trace,
        summary.cluster,
        measures.place as measure_place,
        measures.measure,
        case measures.measure
            when 'jobs' then summary.jobs
            when 'cpu_jobs' then summary.cpu_jobs
            when 'gpu_jobs' then summary.gpu_jobs
            when 'mean_run_s' then summary.mean_run_s
            when 'mean_wait_s' then summary.mean_wait_s
            when 'mean_gpus' then summary.mean_gpus
            when 'median_run_s' then summary.median_run_s
            when 'median_wait_s' then summary.median_wait_s
            when 'median_gpus' then summary.median_gpus
            when 'max_run_s' then summary.max_run_s
            when 'max_gpus' then summary.max_gpus
            when 'completed_share' then summary.completed_share
            when 'cancelled_share' then summary.cancelled_share
            when 'failed_or_preempted_share' then summary.failed_share + summary.preempted_share
            when 'completed_gpu_s' then summary.completed_gpu_s
            when 'cancelled_gpu_s' then summary.cancelled_gpu_s
            when 'failed_or_preempted_gpu_s' then summary.failed_gpu_s + summary.preempted_gpu_s
            when 'completed_gpu_time_share' then summary.completed_gpu_time_share
            when 'cancelled_gpu_time_share' then summary.cancelled_gpu_time_share
            when 'failed_or_preempted_gpu_time_share'
                then summary.failed_gpu_time_share + summary.preempted_gpu_time_share
            when 'mean_run_s_cpu' then summary.mean_run_s_cpu
            when 'mean_wait_s_cpu' then summary.mean_wait_s_cpu
            when 'median_run_s_cpu' then summary.median_run_s_cpu
            when 'median_wait_s_cpu' then summary.median_wait_s_cpu
            when 'completed_share_cpu' then summary.completed_share_cpu
            when 'cancelled_share_cpu' then summary.cancelled_share_cpu
            when 'failed_or_preempted_share_cpu' then summary.failed_share_cpu + summary.preempted_share_cpu
        end as measured,
        case measures.measure
            when 'jobs' then published.job_num
            when 'cpu_jobs' then published.cpu_job_num
            when 'gpu_jobs' then published.gpu_job_num
            when 'mean_run_s' then published.avg_run_time_gpu
            when 'mean_wait_s' then published.avg_que_time_gpu
            when 'mean_gpus' then published.avg_gpu_num
            when 'median_run_s' then published.med_run_time_gpu
            when 'median_wait_s' then published.med_que_time_gpu
            when 'median_gpus' then published.med_gpu_num
            when 'max_run_s' then published.max_run_time_gpu
            when 'max_gpus' then published.max_gpu
            when 'completed_share' then published.complete_rate_gpu
            when 'cancelled_share' then published.cancel_rate_gpu
            when 'failed_or_preempted_share' then published.fail_rate_gpu
            when 'completed_gpu_s' then published.complete_gpu_time
            when 'cancelled_gpu_s' then published.cancel_gpu_time
            when 'failed_or_preempted_gpu_s' then published.fail_gpu_time
            when 'completed_gpu_time_share' then published.complete_rate_gpu_time
            when 'cancelled_gpu_time_share' then published.cancel_rate_gpu_time
            when 'failed_or_preempted_gpu_time_share' then published.fail_rate_gpu_time
            when 'mean_run_s_cpu' then published.avg_run_time_cpu
            when 'mean_wait_s_cpu' then published.avg_que_time_cpu
            when 'median_run_s_cpu' then published.med_run_time_cpu
            when 'median_wait_s_cpu' then published.med_que_time_cpu
            when 'completed_share_cpu' then published.complete_rate_cpu
            when 'cancelled_share_cpu' then published.cancel_rate_cpu
            when 'failed_or_preempted_share_cpu' then published.fail_rate_cpu
        end as published
    from unified.summary as summary
    cross join measures
    -- The table lists Acme's clusters, and other traces as a whole.
    inner join acme.cluster_summary as published
        on
            lower(published.id)
            = case when coalesce(summary.cluster, 'all') = 'all' then summary.trace else summary.cluster end
)

select
    trace,
    cluster,
    measure,
    measured,
    published,
    measured - published as difference
from compared
where stats.is_chosen(trace, in_trace)
order by trace, cluster, measure_place;

comment on macro table unified.summary_against_published is
'Each measure of cluster_summary.csv next to the same measure computed from the jobs, for clusters and '
'whole traces that both contain. The table counts preempted jobs as failed, so its failures are next to '
'those of failed and preempted jobs together. difference is the measured value minus the published value, '
'NULL where the table has none.';
