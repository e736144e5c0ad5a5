-- Run times by kind of job or model (ASI spans)
-- answers: run
-- chart: box x=class y=run_s:log xname={per}
-- column: class: Kind of job or of model
-- column: spans [spans]: Execution spans
create or replace macro asi.run_by_type(
    -- what to group the spans by: job_type or model_type [job_type model_type]
    per varchar := 'job_type'
) as table
with spans as (
    select
        case per when 'job_type' then job_type_public else model_type_public end as class,
        3600 * duration_hours as run_s
    from asi.job_execution_summary
    where gpu_request > 0 and duration_hours >= 0
)

select
    class,
    count(*) as spans,
    stats.percentiles(run_s).p5 as p5_run_s,
    stats.percentiles(run_s).p25 as p25_run_s,
    stats.percentiles(run_s).median as median_run_s,
    stats.percentiles(run_s).p75 as p75_run_s,
    stats.percentiles(run_s).p90 as p90_run_s,
    stats.percentiles(run_s).p95 as p95_run_s,
    stats.percentiles(run_s).p99 as p99_run_s
from spans
where
    case per
        when 'job_type' then class in ('training', 'online_inference', 'offline_inference', 'dev')
        else class <> 'unknown'
    end
group by class
order by class;

comment on macro table asi.run_by_type is 'Duration of execution spans with a GPU, as in the publisher''s job_type_model_type_execution_time_cdf. Spans are recorded in steps of 20 s.';
