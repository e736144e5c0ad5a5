-- Jobs, GPU-hours and users by cluster (Helios jobs)
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- chart: bar x=cluster y=gpu_h title=GPU-hours by cluster (Helios jobs)
-- column: cluster: Cluster, or all
-- column: cpu_jobs: Jobs that request no GPU
-- column: gpu_jobs: Jobs that request a GPU or a part of one
-- column: users: Users with a job
-- column: mean_gpus: Mean number of GPUs of a job
-- column: median_gpus: Median number of GPUs of a job
-- column: max_gpus: Largest number of GPUs of a job
-- column: mean_run_s: Mean run time of GPU jobs
-- column: median_run_s: Median run time of GPU jobs
-- column: max_run_s: Longest run time of a GPU job
-- column: mean_wait_s: Mean queueing delay of GPU jobs
-- column: median_wait_s: Median queueing delay of GPU jobs
create or replace macro helios.totals(with_total boolean := false) as table
select
    coalesce(cluster, 'all') as cluster,
    count(*) as jobs,
    count(*) filter (where requested_gpus = 0) as cpu_jobs,
    count(*) filter (where requested_gpus > 0) as gpu_jobs,
    count(distinct user_id) as users,
    stats.fsum(held_gpu_s) / 3600.0 as gpu_h,
    stats.favg(case when requested_gpus > 0 then requested_gpus end) as mean_gpus,
    median(requested_gpus) filter (where requested_gpus > 0) as median_gpus,
    max(requested_gpus) as max_gpus,
    stats.favg(case when requested_gpus > 0 then run_s end) as mean_run_s,
    median(run_s) filter (where requested_gpus > 0) as median_run_s,
    max(run_s) filter (where requested_gpus > 0) as max_run_s,
    stats.favg(case when requested_gpus > 0 then wait_s end) as mean_wait_s,
    median(wait_s) filter (where requested_gpus > 0) as median_wait_s
from helios.standard_job
group by grouping sets ((cluster), ())
having bool_or(with_total) or grouping(cluster) = 0
order by grouping(cluster), cluster;

comment on macro table helios.totals is 'Jobs with and without a GPU, users and GPU-hours per cluster. GPUs, run time and queueing delay are those of GPU jobs. The total counts a user of several clusters once.';
