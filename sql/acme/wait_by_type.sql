-- Queueing delay by workload type (Acme GPU jobs)
-- caveat: acme.types_differ_by_cluster
-- chart: box x=workload_type y=wait_s:log
-- column: jobs: GPU jobs of the cluster
create or replace macro acme.wait_by_type(on_cluster varchar := 'seren') as table
select
    workload_type,
    count(*) as jobs,
    favg(wait_s) as mean_wait_s,
    quantile_cont(wait_s, 0.05) as p5_wait_s,
    quantile_cont(wait_s, 0.25) as p25_wait_s,
    percentiles(wait_s) as wait_s,
    fsum(gpu_h) as gpu_h
from acme.job
where cluster = on_cluster and requested_gpus > 0
group by workload_type
order by mean_wait_s desc, workload_type asc;

comment on macro table acme.wait_by_type is 'Queueing delay of GPU jobs from submission to start, with interpolated percentiles, and their GPU-hours, per type of work.';
