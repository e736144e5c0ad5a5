-- Data-quality rules of the spot trace. Each counts the rows that break it.

-- check: spot.node.positive
-- object: spot.node
-- kind: range
-- rule: a node has a GPU and a vCPU at least
select count(*)
from spot.node
where gpu_capacity_num < 1 or cpu_num < 1;

-- check: spot.job.type
-- object: spot.job
-- kind: range
-- rule: job_type is HP or Spot
select count(*)
from spot.job
where job_type not in ('HP', 'Spot');

-- check: spot.job.non_negative
-- object: spot.job
-- kind: range
-- rule: requests, submission and duration are not below 0
select count(*)
from spot.job
where cpu_request < 0 or gpu_request < 0 or submit_time < 0 or duration < 0;

-- check: spot.job.workers
-- object: spot.job
-- kind: range
-- rule: a job has a worker at least
select count(*)
from spot.job
where worker_num < 1;

-- check: spot.job.model_listed
-- object: spot.job
-- kind: reference
-- rule: the GPU model of a job is one that a node has
select count(*)
from spot.job as job
anti join spot.node as node on job.gpu_model = node.gpu_model
where
    job.gpu_model is not null
    and exists (select present.gpu_model from spot.node as present);
