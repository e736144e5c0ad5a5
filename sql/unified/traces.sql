-- What do the traces look like side by side?
-- param: gpu_only: count only jobs that request a GPU
-- chart: stack x=trace y=gpu_h color=cluster
create or replace macro unified.traces(gpu_only boolean := true) as table
select
    trace,
    cluster,
    count(*) as jobs,
    fsum(gpu_s) / 3600.0 as gpu_h,
    favg(requested_gpus) as mean_gpus,
    median(run_s) as median_run_s,
    median(wait_s) as median_wait_s,
    100.0 * count(*) filter (where status <> 'unknown') / count(*) as known_outcome_pct,
    100.0 * count(*) filter (where status = 'failed')
    / nullif(count(*) filter (where status <> 'unknown'), 0) as failed_pct
from unified.jobs
where not gpu_only or requested_gpus > 0
group by trace, cluster
order by trace, cluster;

comment on macro table unified.traces is 'Jobs, GPU-hours, size, run and wait per trace and cluster, and the share that failed of those whose outcome is known; NULL where a trace does not record it.';
