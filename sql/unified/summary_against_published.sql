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
with compared as (
    select
        summary.trace,
        summary.cluster,
        unnest([
            stats.figure(1, 'jobs', summary.jobs, published.job_num),
            stats.figure(2, 'cpu_jobs', summary.cpu_jobs, published.cpu_job_num),
            stats.figure(3, 'gpu_jobs', summary.gpu_jobs, published.gpu_job_num),
            stats.figure(4, 'mean_run_s', summary.mean_run_s, published.avg_run_time_gpu),
            stats.figure(5, 'mean_wait_s', summary.mean_wait_s, published.avg_que_time_gpu),
            stats.figure(6, 'mean_gpus', summary.mean_gpus, published.avg_gpu_num),
            stats.figure(7, 'median_run_s', summary.median_run_s, published.med_run_time_gpu),
            stats.figure(8, 'median_wait_s', summary.median_wait_s, published.med_que_time_gpu),
            stats.figure(9, 'median_gpus', summary.median_gpus, published.med_gpu_num),
            stats.figure(10, 'max_run_s', summary.max_run_s, published.max_run_time_gpu),
            stats.figure(11, 'max_gpus', summary.max_gpus, published.max_gpu),
            stats.figure(12, 'completed_share', summary.completed_share, published.complete_rate_gpu),
            stats.figure(13, 'cancelled_share', summary.cancelled_share, published.cancel_rate_gpu),
            stats.figure(
                14,
                'failed_or_preempted_share',
                summary.failed_share + summary.preempted_share,
                published.fail_rate_gpu
            ),
            stats.figure(15, 'completed_gpu_s', summary.completed_gpu_s, published.complete_gpu_time),
            stats.figure(16, 'cancelled_gpu_s', summary.cancelled_gpu_s, published.cancel_gpu_time),
            stats.figure(
                17,
                'failed_or_preempted_gpu_s',
                summary.failed_gpu_s + summary.preempted_gpu_s,
                published.fail_gpu_time
            ),
            stats.figure(
                18,
                'completed_gpu_time_share',
                summary.completed_gpu_time_share,
                published.complete_rate_gpu_time
            ),
            stats.figure(
                19,
                'cancelled_gpu_time_share',
                summary.cancelled_gpu_time_share,
                published.cancel_rate_gpu_time
            ),
            stats.figure(
                20,
                'failed_or_preempted_gpu_time_share',
                summary.failed_gpu_time_share + summary.preempted_gpu_time_share,
                published.fail_rate_gpu_time
            ),
            stats.figure(21, 'mean_run_s_cpu', summary.mean_run_s_cpu, published.avg_run_time_cpu),
            stats.figure(22, 'mean_wait_s_cpu', summary.mean_wait_s_cpu, published.avg_que_time_cpu),
            stats.figure(23, 'median_run_s_cpu', summary.median_run_s_cpu, published.med_run_time_cpu),
            stats.figure(24, 'median_wait_s_cpu', summary.median_wait_s_cpu, published.med_que_time_cpu),
            stats.figure(25, 'completed_share_cpu', summary.completed_share_cpu, published.complete_rate_cpu),
            stats.figure(26, 'cancelled_share_cpu', summary.cancelled_share_cpu, published.cancel_rate_cpu),
            stats.figure(
                27,
                'failed_or_preempted_share_cpu',
                summary.failed_share_cpu + summary.preempted_share_cpu,
                published.fail_rate_cpu
            )
        ]) as figure
    from unified.summary as summary
    -- The table lists Acme's clusters, and other traces as a whole.
    inner join acme.cluster_summary as published
        on
            lower(published.id)
            = case when coalesce(summary.cluster, 'all') = 'all' then summary.trace else summary.cluster end
)

select
    trace,
    cluster,
    figure.measure,
    figure.measured,
    figure.published,
    figure.measured - figure.published as difference
from compared
where stats.is_chosen(trace, in_trace)
order by trace, cluster, figure.place;

comment on macro table unified.summary_against_published is
'Each measure of cluster_summary.csv next to the same measure computed from the jobs, for clusters and '
'whole traces that both contain. The table counts preempted jobs as failed, so its failures are next to '
'those of failed and preempted jobs together. difference is the measured value minus the published value, '
'NULL where the table has none.';
