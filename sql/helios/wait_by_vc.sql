-- Queueing delay by virtual cluster (Helios GPU jobs)
-- answers: wait
-- caveat: helios.gpus_change_daily
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: helios.vc_names_are_shared
-- chart: box x=vc y=wait_s:log note=Virtual clusters in the order of their mean queueing delays.
-- column: jobs: GPU jobs of the virtual cluster
create or replace macro helios.wait_by_vc(on_cluster varchar := 'Venus') as table
select
    partition_name as vc,
    count(*) as jobs,
    stats.favg(wait_s) as mean_wait_s,
    stats.percentiles(wait_s).p5 as p5_wait_s,
    stats.percentiles(wait_s).p25 as p25_wait_s,
    stats.percentiles(wait_s).median as median_wait_s,
    stats.percentiles(wait_s).p75 as p75_wait_s,
    stats.percentiles(wait_s).p90 as p90_wait_s,
    stats.percentiles(wait_s).p95 as p95_wait_s,
    stats.percentiles(wait_s).p99 as p99_wait_s
from helios.standard_job
where cluster = on_cluster and requested_gpus > 0
group by partition_name
order by mean_wait_s desc nulls last, vc asc;

comment on macro table helios.wait_by_vc is 'Queueing delay of GPU jobs from submission to start, with interpolated percentiles, per virtual cluster. Most jobs have a queueing delay of 0 s.';
