-- Jobs and GPU-hours by cluster (ITP jobs)
-- resolves_caveat: itp.clusters_differ_in_kind
-- column: cluster: Cluster, or all
-- column: mean_gpus: Mean number of GPUs of a job
-- column: max_gpus: Largest number of GPUs of a job
-- chart: bar x=cluster y=gpu_h title=GPU-hours by cluster (ITP jobs)
create or replace macro itp.gpu_hours(
    -- smallest number of GPUs of a job to include [0 to 10000]
    min_gpus integer := 1,
    with_total boolean := false
) as table
select
    coalesce(cluster, 'all') as cluster,
    count(*) as jobs,
    sum(requested_gpus * run_s) / 3600.0 as gpu_h,
    avg(requested_gpus) as mean_gpus,
    max(requested_gpus) as max_gpus,
    median(run_s) as median_run_s
from itp.job
where requested_gpus >= min_gpus
group by grouping sets ((cluster), ())
having bool_or(with_total) or grouping(cluster) = 0
order by grouping(cluster), cluster;

comment on macro table itp.gpu_hours is 'Jobs, GPU-hours and job sizes per ITP cluster.';
