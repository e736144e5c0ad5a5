-- Training jobs with a model, a batch size, iterations and a deadline. ElasticFlow's authors generated these
-- values; other traces do not have them. Times are seconds since the start of the trace.
-- Source: README of microsoft/elasticflow-traces, Schema for elasticflow-traces.
with timed as (
    -- In the other traces, times count from 1970, or from a time before the trace.
    select *, case when $trace in ('itp', 'openb', 'spot') then 0 else first_submit_s end as start_s
    from job
)

select
    -- from job_id, cluster
    job_name as job_id,
    -- from submit_s
    rounded(submit_s - start_s) as submission_time,
    -- from num_iteration [run_s times --iterations-per-s]
    otherwise(num_iteration, cast(round(run_s * $iterations_per_s) as bigint)) as num_iteration,
    -- from model_name, workload [--model]
    otherwise(model_name, $model) as model_name,
    -- from deadline_s [submission_time and run_s times --deadline-factor]
    otherwise(deadline_s, cast(round(submit_s - start_s + run_s * $deadline_factor) as bigint)) as deadline,
    -- from batch_size [--batch-size]
    otherwise(batch_size, $batch_size) as batch_size,
    -- from requested_gpus
    rounded_up(requested_gpus) as num_gpu,
    -- from run_s
    rounded(run_s) as duration,
    job_name <> job_id as "job_id: prefixed by their cluster, as several clusters are exported",
    start_s > 0 as "submission_time: counted from the first job",
from timed
order by number
