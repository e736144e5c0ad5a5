-- Queueing delay by workload type (Acme GPU jobs)
-- caveat: acme.types_differ_by_cluster
-- resolves_caveat: acme.cpu_jobs_included
-- chart: box x=workload_type y=wait_s:log
-- column: jobs: GPU jobs of the type whose queueing delay is known
-- column: jobs_without_wait [jobs]: GPU jobs of the type without a known queueing delay
create or replace macro acme.wait_by_type(
    on_cluster varchar := 'seren', by_publisher boolean := false
) as table
with waits as (
    select
        workload_type,
        case when by_publisher then published_queue_s else wait_s end as waited_s,
        case when by_publisher then published_gpu_h else gpu_h end as used_gpu_h
    from acme.job
    where cluster = on_cluster and requested_gpus > 0
)

select
    workload_type,
    count(waited_s) as jobs,
    count(*) - count(waited_s) as jobs_without_wait,
    stats.favg(waited_s) as mean_wait_s,
    stats.percentiles(waited_s).p5 as p5_wait_s,
    stats.percentiles(waited_s).p25 as p25_wait_s,
    stats.percentiles(waited_s).median as median_wait_s,
    stats.percentiles(waited_s).p75 as p75_wait_s,
    stats.percentiles(waited_s).p90 as p90_wait_s,
    stats.percentiles(waited_s).p95 as p95_wait_s,
    stats.percentiles(waited_s).p99 as p99_wait_s,
    stats.fsum(used_gpu_h) as gpu_h
from waits
group by workload_type
order by mean_wait_s desc, workload_type asc;

comment on macro table acme.wait_by_type is 'Queueing delay of GPU jobs from submission to start, with interpolated percentiles, and the GPU-hours of all GPU jobs, per type of work. Jobs that never started have no queueing delay and are counted apart.';
