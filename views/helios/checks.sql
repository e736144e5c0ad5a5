-- Data-quality rules of Helios. Each counts the rows that break it.

-- check: helios.job.state_documented
-- object: helios.job
-- kind: range
-- rule: state is one of the five that the README lists
-- caveat: helios.suspended_once
select count(*)
from helios.job
where state not in ('COMPLETED', 'CANCELLED', 'FAILED', 'TIMEOUT', 'NODE_FAIL');

-- check: helios.job.state
-- object: helios.job
-- kind: range
-- rule: state is one of the five that the README lists, or SUSPENDED
select count(*)
from helios.job
where state not in ('COMPLETED', 'CANCELLED', 'FAILED', 'TIMEOUT', 'NODE_FAIL', 'SUSPENDED');

-- check: helios.job.names
-- object: helios.job
-- kind: range
-- rule: user begins with u, and vc with vc
select count(*)
from helios.job
where "user" not like 'u%' or vc not like 'vc%';

-- check: helios.job.non_negative
-- object: helios.job
-- kind: range
-- rule: numbers of GPUs, CPUs and nodes are not below 0
select count(*)
from helios.job
where gpu_num < 0 or cpu_num < 0 or node_num < 0;

-- check: helios.job.start_after_submit
-- object: helios.job
-- kind: range
-- rule: a job does not start before it is submitted
select count(*)
from helios.job
where start_time < submit_time;

-- check: helios.job.end_after_start
-- object: helios.job
-- kind: range
-- rule: a job does not end before it starts
select count(*)
from helios.job
where end_time < start_time;

-- check: helios.job.duration
-- object: helios.job
-- kind: derived
-- rule: duration is end_time - start_time
select count(*)
from helios.job
where duration <> epoch(end_time) - epoch(start_time);

-- check: helios.job.queue
-- object: helios.job
-- kind: derived
-- rule: queue is start_time - submit_time
select count(*)
from helios.job
where queue <> epoch(start_time) - epoch(submit_time);

-- check: helios.gpu_count.total
-- object: helios.gpu_count
-- kind: derived
-- rule: total is the sum of the virtual clusters of the day
select count(*)
from (
    select
        cluster,
        "date"
    from helios.gpu_count
    group by cluster, "date"
    having sum(gpus) filter (where vc is null) <> sum(gpus) filter (where vc is not null)
) as days;
