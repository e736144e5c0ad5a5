-- Queueing delay by role (DLRM instances)
-- answers: wait
-- chart: box x=role y=wait_s:log note=CN: on CPU nodes. HN: on GPU nodes.
-- column: instances: Instances created in the trace
create or replace macro dlrm.waits(
    -- role of the instances: CN, HN or all [all CN HN]
    on_role varchar := 'all'
) as table
select
    partition_name as role,
    count(*) as instances,
    stats.percentiles(wait_s).p5 as p5_wait_s,
    stats.percentiles(wait_s).p25 as p25_wait_s,
    stats.percentiles(wait_s).median as median_wait_s,
    stats.percentiles(wait_s).p75 as p75_wait_s,
    stats.percentiles(wait_s).p90 as p90_wait_s,
    stats.percentiles(wait_s).p95 as p95_wait_s,
    stats.percentiles(wait_s).p99 as p99_wait_s,
    max(wait_s) as max_wait_s
from dlrm.standard_job
where wait_s is not null and on_role in ('all', partition_name)
group by partition_name
order by role;

comment on macro table dlrm.waits is 'Instances created within the trace, and interpolated percentiles of their queueing delay, per role.';
