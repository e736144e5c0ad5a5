-- Jobs and GPU-hours by job size (ITP jobs)
-- caveat: itp.clusters_differ_in_kind
-- caveat: itp.num_gpu_requested_or_used
-- param: on_cluster: cluster to report on, or all
-- choices: on_cluster: all cluster01 cluster02 cluster03 cluster04 cluster05 cluster06 cluster07 cluster08 cluster09 cluster10
-- chart: bar x=requested_gpus y=gpu_h_pct
create or replace macro itp.size_mix(on_cluster varchar := 'all') as table
with sizes as (
    select
        requested_gpus,
        count(*) as jobs,
        sum(requested_gpus * run_s) as gpu_s
    from itp.job
    where on_cluster = 'all' or cluster = on_cluster
    group by requested_gpus
),

shares as (
    select
        requested_gpus,
        jobs,
        gpu_s,
        sum(jobs) over () as all_jobs,
        sum(gpu_s) over () as all_gpu_s
    from sizes
)

select
    requested_gpus,
    jobs,
    100.0 * jobs / nullif(all_jobs, 0) as jobs_pct,
    gpu_s / 3600.0 as gpu_h,
    100.0 * gpu_s / nullif(all_gpu_s, 0) as gpu_h_pct
from shares
order by requested_gpus;

comment on macro table itp.size_mix is 'Jobs and GPU-hours per number of requested GPUs, and their percentages of the total.';
