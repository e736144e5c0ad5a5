-- Feasibility of generated deadlines (ITP jobs)
-- column: cluster: Cluster, or all
-- column: feasible_jobs: Jobs that would meet their deadline if they started at submission
-- column: feasible_pct: Share of the jobs that would meet their deadline
-- column: tightness [ratio]: Tightness: time to the deadline divided by run time
-- column: median_slack_s: Median slack: time to the deadline minus run time
-- column: median_needed_speedup [ratio]: Median speed-up needed to meet the deadline
create or replace macro itp.feasibility(with_total boolean := false) as table
select
    coalesce(cluster, 'all') as cluster,
    count(*) as jobs,
    count(*) filter (where is_feasible_as_requested) as feasible_jobs,
    100.0 * count(*) filter (where is_feasible_as_requested) / nullif(count(*), 0) as feasible_pct,
    min(tightness) as min_tightness,
    stats.favg(tightness) as mean_tightness,
    max(tightness) as max_tightness,
    median(slack_s) as median_slack_s,
    median(needed_speedup) as median_needed_speedup
from itp.job
group by grouping sets ((cluster), ())
having bool_or(with_total) or grouping(cluster) = 0
order by grouping(cluster), cluster;

comment on macro table itp.feasibility is 'Jobs that would meet their deadline if they started at submission, and tightness (time to the deadline divided by run time), slack and needed speed-up, per cluster.';
