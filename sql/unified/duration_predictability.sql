-- Run time prediction error by predictor (all traces)
-- engine: duckdb (a parameter bounds a window, and asof joins: other engines accept neither)
-- param: last_jobs: number of jobs that ended last over which a median is taken
-- range: last_jobs: 1 to 100
-- chart: bar x=predictor y=median_error color=trace yname=median_relative_error
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
        -- If the end is unknown, assumes that the job did not wait: this is the earliest possible end.
        coalesce(end_s, submit_s + run_s) as end_s,
        submit_s is not null and coalesce(run_s, 0) > 0 as is_whole
    from unified.jobs
    where not gpu_only or requested_gpus > 0
),

-- Numbers the jobs in the order in which they ended.
jobs as (
    select
        trace,
        user_id,
        group_id,
        submit_s,
        end_s,
        run_s,
        row_number() over (order by trace, end_s, submit_s, cluster nulls first, job_id) as job_number
    from counted
    where is_whole
),

ends as (
    select
        trace,
        end_s,
        max(job_number) as job_number
    from jobs
    group by trace, end_s
),

-- A job that ends in the second of a submission does not count as ended yet.
submissions as (
    select
        jobs.trace,
        jobs.user_id,
        jobs.group_id,
        jobs.run_s,
        jobs.job_number,
        coalesce(ends.job_number, 0) as last_ended_number
    from jobs
    asof left join ends on jobs.trace = ends.trace and jobs.submit_s > ends.end_s
),

users as (
    select
        trace,
        user_id,
        3 * min(job_number) as history_number
    from jobs
    where user_id is not null
    group by trace, user_id
),

groups as (
    select
        trace,
        group_id,
        3 * min(job_number) + 1 as history_number
    from jobs
    where group_id is not null
    group by trace, group_id
),

traces_of_jobs as (
    select
        trace,
        3 * min(job_number) + 2 as history_number
    from jobs
    group by trace
),

-- A job belongs to the histories of its user, its group and the trace. A history's number is derived from its first
-- job; numbers are cheap to compare.
histories as (
    select
        users.history_number,
        submissions.trace,
        submissions.run_s,
        submissions.job_number,
        submissions.last_ended_number
    from submissions
    inner join users on submissions.trace = users.trace and submissions.user_id = users.user_id
    union all
    select
        groups.history_number,
        submissions.trace,
        submissions.run_s,
        submissions.job_number,
        submissions.last_ended_number
    from submissions
    inner join groups on submissions.trace = groups.trace and submissions.group_id = groups.group_id
    union all
    select
        traces_of_jobs.history_number,
        submissions.trace,
        submissions.run_s,
        submissions.job_number,
        submissions.last_ended_number
    from submissions
    inner join traces_of_jobs on submissions.trace = traces_of_jobs.trace
),

-- The predictions after each end of a job.
ended as (
    select
        history_number,
        job_number,
        run_s as last_run_s,
        -- The bound is valid even if last_jobs is not, so that the error message is about the parameter.
        list_median(list(run_s) over (
            partition by history_number
            order by job_number
            rows between greatest(coalesce(last_jobs, 1), 1) - 1 preceding and current row
        )) as median_run_s
    from histories
),

histories_of_jobs as (
    select
        histories.trace,
        case histories.history_number % 3 when 0 then 'user' when 1 then 'group' else 'trace' end as history,
        histories.run_s,
        ended.last_run_s,
        ended.median_run_s
    from histories
    asof inner join ended
        on
            histories.history_number = ended.history_number
            and histories.last_ended_number >= ended.job_number
),

predictions as (
    select
        trace,
        'last of ' || history as predictor,
        last_run_s as predicted_run_s,
        run_s
    from histories_of_jobs
    union all
    select
        trace,
        'median of ' || history as predictor,
        median_run_s as predicted_run_s,
        run_s
    from histories_of_jobs
),

compared as (
    select
        trace,
        predictor,
        abs(predicted_run_s - run_s) / nullif(run_s, 0) as error,
        predicted_run_s between run_s / 2 and 2 * run_s as is_within_factor_2
    from predictions
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
