-- Run time prediction error by predictor (all traces)
-- param: last_jobs: number of jobs that ended last over which a median is taken
-- range: last_jobs: 1 to 100
-- chart: bar x=predictor y=median_error color=trace
-- column: predictor: Last or median run time of the same user, group or trace: last of user, median of user, and so on
-- column: jobs: Jobs of the trace, the same for each predictor
create or replace macro unified.duration_predictability(
    gpu_only boolean := true, last_jobs bigint := 5
) as table
with counted as (
    select
        trace,
        cluster,
        job_id,
        user_id,
        group_id,
        submit_s,
        run_s,
        -- Where the end is unknown, assumes that the job did not wait, the earliest possible end.
        coalesce(end_s, submit_s + run_s) as end_s,
        submit_s is not null and coalesce(run_s, 0) > 0 as is_whole
    from unified.jobs
    where not gpu_only or requested_gpus > 0
),

jobs as (
    select
        trace,
        user_id,
        group_id,
        submit_s,
        end_s,
        run_s,
        row_number() over (
            partition by trace order by end_s, submit_s, cluster nulls first, job_id
        ) as job_number
    from counted
    where is_whole
),

histories as (
    select unnest(['user', 'group', 'trace']) as history
),

-- A job belongs to the history of its user, of its group, and of the trace.
keyed as (
    select
        jobs.trace,
        histories.history,
        case histories.history
            when 'user' then jobs.user_id
            when 'group' then jobs.group_id
            else jobs.trace
        end as history_key,
        jobs.job_number,
        jobs.submit_s,
        jobs.end_s,
        jobs.run_s
    from jobs
    cross join histories
),

ended as (
    select
        trace,
        history,
        history_key,
        run_s,
        row_number() over (partition by trace, history, history_key order by job_number) as ended_jobs
    from keyed
    where history_key is not null
),

events as (
    select
        trace,
        history,
        history_key,
        submit_s as at_s,
        0 as ends,
        job_number
    from keyed
    where history_key is not null
    union all
    select
        trace,
        history,
        history_key,
        end_s as at_s,
        1 as ends,
        job_number
    from keyed
    where history_key is not null
),

-- A job that ends in the second of a submission does not count as ended yet.
known_histories as (
    select
        trace,
        history,
        history_key,
        job_number,
        ends,
        sum(ends) over (
            partition by trace, history, history_key
            order by at_s, ends, job_number
            rows between unbounded preceding and current row
        ) as ended_jobs
    from events
),

steps as (
    select unnest(generate_series(0, last_jobs - 1)) as back
),

-- The predictions after each end of a job.
history_runs as (
    select
        ended.trace,
        ended.history,
        ended.history_key,
        ended.ended_jobs + steps.back as ended_jobs,
        max(ended.run_s) filter (where steps.back = 0) as last_run_s,
        median(ended.run_s) as median_run_s
    from ended
    cross join steps
    group by ended.trace, ended.history, ended.history_key, ended.ended_jobs + steps.back
),

histories_of_jobs as (
    select
        known_histories.trace,
        known_histories.history,
        known_histories.job_number,
        history_runs.last_run_s,
        history_runs.median_run_s
    from known_histories
    inner join history_runs
        on
            known_histories.trace = history_runs.trace
            and known_histories.history = history_runs.history
            and known_histories.history_key = history_runs.history_key
            and known_histories.ended_jobs = history_runs.ended_jobs
    where known_histories.ends = 0
),

predictions as (
    select
        trace,
        'last of ' || history as predictor,
        job_number,
        last_run_s as predicted_run_s
    from histories_of_jobs
    union all
    select
        trace,
        'median of ' || history as predictor,
        job_number,
        median_run_s as predicted_run_s
    from histories_of_jobs
),

compared as (
    select
        predictions.trace,
        predictions.predictor,
        predictions.predicted_run_s,
        jobs.run_s,
        abs(predictions.predicted_run_s - jobs.run_s) / nullif(jobs.run_s, 0) as error,
        predictions.predicted_run_s between jobs.run_s / 2 and 2 * jobs.run_s as is_within_factor_2
    from predictions
    inner join jobs on predictions.trace = jobs.trace and predictions.job_number = jobs.job_number
),

errors as (
    select
        trace,
        predictor,
        count(*) as predicted_jobs,
        percentiles(error) as error,
        count(*) filter (where is_within_factor_2) as within_factor_2_jobs
    from compared
    group by trace, predictor
),

traces as (
    select
        trace,
        count(*) as jobs,
        count(*) filter (where is_whole) as whole_jobs
    from counted
    group by trace
),

predictors as (
    select unnest([
        'last of user',
        'last of group',
        'last of trace',
        'median of user',
        'median of group',
        'median of trace',
    ]) as predictor
)

select
    traces.trace,
    predictors.predictor,
    traces.jobs,
    100.0 * traces.whole_jobs / traces.jobs as whole_run_pct,
    coalesce(errors.predicted_jobs, 0) as predicted_jobs,
    100.0 * coalesce(errors.predicted_jobs, 0) / nullif(traces.whole_jobs, 0) as covered_pct,
    errors.median_error,
    errors.p75_error,
    errors.p90_error,
    errors.p95_error,
    errors.p99_error,
    100.0 * errors.within_factor_2_jobs / nullif(errors.predicted_jobs, 0) as within_factor_2_pct
from traces
cross join predictors
left join errors on traces.trace = errors.trace and predictors.predictor = errors.predictor
order by traces.trace, predictors.predictor;

comment on macro table unified.duration_predictability is 'How well the run times of jobs that ended before a job was submitted predict its run time, per trace and predictor. The predictor is the run time of the job that ended last, or the median run time of the last_jobs jobs that ended last (of all, if there were fewer), among jobs of the same user, of the same group, or of the trace, in any cluster. jobs counts all jobs of the trace, or those that request a GPU with gpu_only. whole_run_pct is the percentage of them with a submission and a whole run time above 0 s; only these are predicted and used for prediction. A job counts as ended if its end is less than the submission; where the end is unknown (ITP), submission plus run time replaces it, as if the job had not waited. Of jobs that ended in the same second, the one submitted last counts as last, then the one with the greater cluster and job_id. predicted_jobs counts jobs with at least one such earlier job; covered_pct is their share of the jobs with a whole run time. The error is the absolute difference of predicted and actual run time over the actual one, as a ratio, with interpolated percentiles; within_factor_2_pct is the percentage of predictions between half and twice the actual run time. Predictors cover different jobs; errors are NULL where nothing is predicted, as in traces without users or groups.';
