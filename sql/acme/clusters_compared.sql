-- Comparison with Philly, Helios and PAI (Acme jobs)
-- caveat: acme.summary_is_rounded
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: acme.summary_gaps_and_zeros
-- chart: bar x=cluster y=mean_run_s color=origin title=Mean run time by cluster, as published or measured
-- column: cluster: Cluster, or all
-- column: origin: Origin of a figure: published or measured
-- column: jobs: All jobs, as published or measured
-- column: cpu_jobs: Jobs without a GPU, as published or measured
-- column: gpu_jobs: Jobs with a GPU, as published or measured
-- column: covered_pct: Share of the jobs whose run time is known
-- column: mean_gpus: Mean number of GPUs of a job
-- column: median_gpus: Median number of GPUs of a job
-- column: max_gpus: Largest number of GPUs of a job
-- column: gpu_h: GPU-hours of GPU jobs, as published or measured
-- column: completed_jobs_pct: Share of the GPU jobs that completed
-- column: cancelled_jobs_pct: Share of the GPU jobs that were cancelled
-- column: failed_jobs_pct: Share of the GPU jobs that failed, preempted ones included
-- column: completed_gpu_h_pct: Share of the GPU-hours in jobs that completed
-- column: cancelled_gpu_h_pct: Share of the GPU-hours in jobs that were cancelled
-- column: failed_gpu_h_pct: Share of the GPU-hours in jobs that failed, preempted ones included
create or replace macro acme.clusters_compared(by_publisher boolean := false) as table
with published as (
    select
        lower(id) as cluster,
        'published' as origin,
        job_num as jobs,
        -- The 0 of PAI means that these jobs were not counted.
        case when job_num = cpu_job_num + gpu_job_num then cpu_job_num end as cpu_jobs,
        gpu_job_num as gpu_jobs,
        cast(null as double) as covered_pct,
        avg_run_time_gpu as mean_run_s,
        med_run_time_gpu as median_run_s,
        max_run_time_gpu as max_run_s,
        avg_que_time_gpu as mean_wait_s,
        med_que_time_gpu as median_wait_s,
        avg_gpu_num as mean_gpus,
        med_gpu_num as median_gpus,
        max_gpu as max_gpus,
        (complete_gpu_time + cancel_gpu_time + fail_gpu_time) / 3600.0 as gpu_h,
        100 * complete_rate_gpu as completed_jobs_pct,
        100 * cancel_rate_gpu as cancelled_jobs_pct,
        100 * fail_rate_gpu as failed_jobs_pct,
        100 * complete_rate_gpu_time as completed_gpu_h_pct,
        100 * cancel_rate_gpu_time as cancelled_gpu_h_pct,
        100 * fail_rate_gpu_time as failed_gpu_h_pct
    from acme.cluster_summary
),

-- Run time, queueing delay and GPU-hours of each job: published or measured.
timed_jobs as (
    select
        cluster,
        requested_gpus,
        outcome,
        requested_gpus > 0 as is_gpu_job,
        case when by_publisher then published_duration_s else run_s end as lasted_s,
        case when by_publisher then published_queue_s else wait_s end as waited_s,
        case when by_publisher then published_gpu_h else gpu_h end as lasted_gpu_h
    from acme.job
),

-- Exact sums of doubles are expensive: sums each job three times and adds up the outcomes afterwards.
outcomes as (
    select
        cluster,
        outcome,
        count(*) as jobs,
        count(lasted_s) as covered_jobs,
        stats.fsum(lasted_s) as run_s,
        count(waited_s) as waited_jobs,
        stats.fsum(waited_s) as wait_s,
        stats.fsum(lasted_gpu_h) as gpu_h
    from timed_jobs
    where is_gpu_job
    group by cluster, outcome
),

totals as (
    select
        cluster,
        sum(covered_jobs) as covered_jobs,
        stats.fsum(run_s) / nullif(sum(covered_jobs), 0) as mean_run_s,
        stats.fsum(wait_s) / nullif(sum(waited_jobs), 0) as mean_wait_s,
        stats.fsum(gpu_h) as gpu_h,
        coalesce(sum(jobs) filter (where outcome = 'completed'), 0) as completed_jobs,
        coalesce(sum(jobs) filter (where outcome = 'cancelled'), 0) as cancelled_jobs,
        coalesce(sum(jobs) filter (where outcome = 'failed'), 0) as failed_jobs,
        coalesce(stats.fsum(case when outcome = 'completed' then gpu_h end), 0) as completed_gpu_h,
        coalesce(stats.fsum(case when outcome = 'cancelled' then gpu_h end), 0) as cancelled_gpu_h,
        -- If jobs failed and no time of any is known, their GPU-hours are unknown, not 0.
        coalesce(
            stats.fsum(case when outcome = 'failed' then gpu_h end),
            case when count(*) filter (where outcome = 'failed') = 0 then 0 end
        ) as failed_gpu_h
    from outcomes
    group by cluster
),

counted as (
    select
        cluster,
        count(*) as jobs,
        count(*) filter (where requested_gpus = 0) as cpu_jobs,
        count(*) filter (where is_gpu_job) as gpu_jobs,
        median(lasted_s) filter (where is_gpu_job) as median_run_s,
        max(lasted_s) filter (where is_gpu_job) as max_run_s,
        median(waited_s) filter (where is_gpu_job) as median_wait_s,
        avg(requested_gpus) filter (where is_gpu_job) as mean_gpus,
        median(requested_gpus) filter (where is_gpu_job) as median_gpus,
        max(requested_gpus) filter (where is_gpu_job) as max_gpus
    from timed_jobs
    group by cluster
),

measured as (
    select
        counted.cluster,
        'measured' as origin,
        counted.jobs,
        counted.cpu_jobs,
        counted.gpu_jobs,
        100.0 * totals.covered_jobs / nullif(counted.gpu_jobs, 0) as covered_pct,
        totals.mean_run_s,
        counted.median_run_s,
        counted.max_run_s,
        totals.mean_wait_s,
        counted.median_wait_s,
        counted.mean_gpus,
        counted.median_gpus,
        cast(counted.max_gpus as double) as max_gpus,
        totals.gpu_h,
        100.0 * totals.completed_jobs / nullif(counted.gpu_jobs, 0) as completed_jobs_pct,
        100.0 * totals.cancelled_jobs / nullif(counted.gpu_jobs, 0) as cancelled_jobs_pct,
        100.0 * totals.failed_jobs / nullif(counted.gpu_jobs, 0) as failed_jobs_pct,
        100.0 * totals.completed_gpu_h / nullif(totals.gpu_h, 0) as completed_gpu_h_pct,
        100.0 * totals.cancelled_gpu_h / nullif(totals.gpu_h, 0) as cancelled_gpu_h_pct,
        100.0 * totals.failed_gpu_h / nullif(totals.gpu_h, 0) as failed_gpu_h_pct
    from counted
    left join totals on counted.cluster = totals.cluster
),

combined as (
    select * from measured
    union all
    select * from published
)

select
    cluster,
    origin,
    jobs,
    cpu_jobs,
    gpu_jobs,
    covered_pct,
    mean_run_s,
    median_run_s,
    max_run_s,
    mean_wait_s,
    median_wait_s,
    mean_gpus,
    median_gpus,
    max_gpus,
    gpu_h,
    completed_jobs_pct,
    cancelled_jobs_pct,
    failed_jobs_pct,
    completed_gpu_h_pct,
    cancelled_gpu_h_pct,
    failed_gpu_h_pct
from combined
order by
    case cluster when 'seren' then 1 when 'kalos' then 2 when 'philly' then 3 when 'helios' then 4 else 5 end,
    origin;

comment on macro table acme.clusters_compared is
'One row per cluster and origin. Rows with origin published hold the figures of cluster_summary.csv for '
'seren, kalos, philly, helios and pai; rows with origin measured are computed from the jobs of seren and '
'kalos. jobs counts all jobs. cpu_jobs counts jobs without a GPU and is NULL where cpu_jobs and gpu_jobs '
'do not add up to jobs, as for pai, which counts tasks. All other columns describe GPU jobs. Measured run '
'time is end - start and measured queueing delay is start - submit, or the published duration and queue '
'with by_publisher. covered_pct is the percentage of GPU jobs with a known run time, NULL in published '
'rows; jobs without one are left out of run time and gpu_h. Medians are interpolated; max_run_s and '
'max_gpus are those of a single job. Published gpu_h is the sum of the completed, cancelled and failed '
'GPU-hours. The outcome columns are percentages of gpu_jobs and of gpu_h; published ones have three '
'decimals of the fraction. In measured rows TIMEOUT, NODE_FAIL and PREEMPTED count as failed, as they '
'appear to in the summary, and jobs in other states count only in the total. Columns are NULL where the '
'summary has no figure, such as the outcomes of pai. The published rows of seren count 213,223 GPU jobs '
'that its job file does not contain.';
