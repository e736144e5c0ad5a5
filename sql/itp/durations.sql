-- Run time by cluster (ITP jobs)
-- caveat: itp.small_clusters
-- column: cluster: Cluster, or all
-- chart: bar x=cluster y=median_run_s title=Median run time by cluster (ITP jobs)
create or replace macro itp.durations(with_total boolean := false) as table
select
    coalesce(cluster, 'all') as cluster,
    count(*) as jobs,
    min(run_s) as min_run_s,
    avg(run_s) as mean_run_s,
    stats.percentiles(run_s).median as median_run_s,
    stats.percentiles(run_s).p75 as p75_run_s,
    stats.percentiles(run_s).p90 as p90_run_s,
    stats.percentiles(run_s).p95 as p95_run_s,
    stats.percentiles(run_s).p99 as p99_run_s,
    max(run_s) as max_run_s
from itp.job
group by grouping sets ((cluster), ())
having bool_or(with_total) or grouping(cluster) = 0
order by grouping(cluster), cluster;

comment on macro table itp.durations is 'Jobs and interpolated percentiles of their run time per ITP cluster.';
