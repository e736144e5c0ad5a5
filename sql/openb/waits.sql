-- Queueing delay (openb pods)
-- caveat: openb.pending_has_no_schedule
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.times_from_first_pod
-- column: pods: Pods that were scheduled
-- column: never_scheduled_pods: Pods that were created and never scheduled
create or replace macro openb.waits(in_variant varchar := 'default', gpu_only boolean := true) as table
select
    count(wait_s) as pods,
    count(submit_s) - count(wait_s) as never_scheduled_pods,
    stats.percentiles(wait_s).p5 as p5_wait_s,
    stats.percentiles(wait_s).p25 as p25_wait_s,
    stats.percentiles(wait_s).median as median_wait_s,
    stats.percentiles(wait_s).p75 as p75_wait_s,
    stats.percentiles(wait_s).p90 as p90_wait_s,
    stats.percentiles(wait_s).p95 as p95_wait_s,
    stats.percentiles(wait_s).p99 as p99_wait_s,
    max(wait_s) as max_wait_s
from openb.pod_lifecycle
where variant = in_variant and (not gpu_only or requested_gpus > 0);

comment on macro table openb.waits is 'Scheduled pods, and percentiles of their queueing delay from creation. never_scheduled_pods were created and have no queueing delay, so no percentile includes them. A list without times has 0 of both.';
