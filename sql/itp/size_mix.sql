-- Jobs and GPU-hours by job size (ITP jobs)
-- caveat: itp.clusters_differ_in_kind
-- caveat: itp.num_gpu_requested_or_used
-- chart: bar x=requested_gpus y=gpu_h_pct title=Share of GPU-hours by job size (ITP jobs)
create or replace macro itp.size_mix(
    -- cluster to report on, or all [all cluster01 cluster02 cluster03 cluster04 cluster05 cluster06 cluster07
    -- cluster08 cluster09 cluster10]
    on_cluster varchar := 'all'
) as table
with sizes as (
    select
        requested_gpus,
        count(*) as jobs,
        sum(requested_gpus * run_s) as gpu_s
    from itp.job
    where on_cluster = 'all' or cluster = on_cluster
    group by requested_gpus
)

select
    requested_gpus,
    sizes.jobs,
    100.0 * sizes.jobs / nullif(sum(sizes.jobs) over (), 0) as jobs_pct,
    gpu_s / 3600.0 as gpu_h,
    100.0 * gpu_s / nullif(sum(gpu_s) over (), 0) as gpu_h_pct
from sizes
order by requested_gpus;

comment on macro table itp.size_mix is 'Jobs and GPU-hours per number of requested GPUs, and their percentages of the total.';
