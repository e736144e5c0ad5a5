-- Run time by virtual cluster (Helios GPU jobs)
-- answers: run
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: helios.vc_names_are_shared
-- chart: box x=vc y=run_s:log note=Virtual clusters in the order of their mean run times.
-- column: jobs: GPU jobs of the virtual cluster
create or replace macro helios.run_by_vc(on_cluster varchar := 'Venus') as table
select
    partition_name as vc,
    count(*) as jobs,
    stats.favg(run_s) as mean_run_s,
    stats.percentiles(run_s).p5 as p5_run_s,
    stats.percentiles(run_s).p25 as p25_run_s,
    stats.percentiles(run_s).median as median_run_s,
    stats.percentiles(run_s).p75 as p75_run_s,
    stats.percentiles(run_s).p90 as p90_run_s,
    stats.percentiles(run_s).p95 as p95_run_s,
    stats.percentiles(run_s).p99 as p99_run_s
from helios.standard_job
where cluster = on_cluster and requested_gpus > 0
group by partition_name
order by mean_run_s desc nulls last, vc asc;

comment on macro table helios.run_by_vc is 'Run time of GPU jobs from start to end, with interpolated percentiles, per virtual cluster.';
