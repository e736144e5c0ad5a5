-- The names of the jobs, and the values that other numbers in the file of jobs refer to.
select
    -- from number: in the order of submission
    number as job_number,
    -- from cluster [optional]
    cluster,
    -- from job_id [optional]
    job_id,
    -- from user_id [optional]
    user_id,
    -- from group_id [optional]
    group_id,
    -- from workload [optional]
    workload,
    -- from partition_name [optional]
    partition_name,
from job
order by number
