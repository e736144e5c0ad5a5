-- Run time prediction error by predictor (all traces)
-- param: gpu_only: count only jobs that request a GPU
-- param: last_jobs: a median is that of so many jobs that ended last, or of all if there were fewer
-- range: last_jobs: 1 to 100
-- chart: bar x=predictor y=median_error color=trace
-- column: predictor: The last run of the same user, group or trace, or the median of the last ones: last of user, median of user, and so on
-- column: jobs: Jobs of the trace, the same number for each predictor
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
        -- Where no end is told, a job ended at its earliest as if it had not waited.
        coalesce(end_s, submit_s + run_s) as end_s,
        submit_s is not null and coalesce(run_s, 0) > 0 and not coalesce(is_censored, false) as is_whole
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

-- A job belongs to a history by each key that it has: its user, its group, and the trace for all.
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

-- A job that ends in the second of a submission is not known to it yet.
known as (
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

-- What the last jobs tell after each end.
told as (
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
        known.trace,
        known.history,
        known.job_number,
        told.last_run_s,
        told.median_run_s
    from known
    inner join told
        on
            known.trace = told.trace
            and known.history = told.history
            and known.history_key = told.history_key
            and known.ended_jobs = told.ended_jobs
    where known.ends = 0
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
        median(error) as median_error,
        quantile_cont(error, 0.9) as p90_error,
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
    errors.p90_error,
    100.0 * errors.within_factor_2_jobs / nullif(errors.predicted_jobs, 0) as within_factor_2_pct
from traces
cross join predictors
left join errors on traces.trace = errors.trace and predictors.predictor = errors.predictor
order by traces.trace, predictors.predictor;

comment on macro table unified.duration_predictability is 'How well the runs of jobs that ended before a job was submitted tell how long it runs itself, per trace and predictor: the run of the one of them that ended last, or the median run of the last_jobs that ended last (of all, if there were fewer; the mean of the two in the middle, if their number is even), each of those of the same user, of the same group, or of the whole trace, whatever the cluster. jobs are all jobs of the trace, or those that request a GPU if gpu_only; whole_run_pct of them have a submission and a run above 0 s that the trace''s end does not cut off: these alone are predicted, and learnt from. A job ended before if its end is less than the submission, and where no end is told (ITP), its submission and run together stand for it, as if it had not waited. Of jobs that ended in one second, the one that was submitted last ended last, and then the one with the greater cluster and job_id. predicted_jobs are those with at least one such job before them, covered_pct of those with a whole run. The error is the absolute difference of predicted and true run over the true one: median_error and p90_error are its median and 90th percentile, interpolated between neighbours, as ratios; within_factor_2_pct of the predictions are at least half and at most twice the run. Predictors cover different jobs; errors are NULL where nothing is predicted, as in traces without users or groups.';
