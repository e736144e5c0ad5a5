-- Run time prediction error (GPU jobs of all traces)
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: asi.lives_in_whole_hours
-- resolves_caveat: asi.workloads_are_missing
-- resolves_caveat: helios.most_jobs_have_no_gpu
-- resolves_caveat: itp.num_gpu_requested_or_used
-- resolves_caveat: openb.times_from_first_pod
-- resolves_caveat: pai.empty_start_is_waiting
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: philly.gpus_are_those_used
-- resolves_caveat: philly.log_has_no_zone
-- resolves_caveat: spot.request_is_per_worker
-- engine: duckdb (a parameter bounds a window, and asof joins: other engines accept neither)
-- chart: point x=trace y=median_error color=predictor yname=median_relative_error note=Predictor: last or median run time of earlier jobs of the same user, group or trace. Relative error: its distance from the run time over the run time.
-- column: predictor: Last or median run time of the same user, group or trace: last of user, median of user, and so on
-- column: jobs: Jobs of the trace, the same for each predictor
-- column: whole_run_pct: Share of the jobs with a known and complete run time
-- column: predicted_jobs: Jobs whose run time is predicted
-- column: covered_pct: Share of the jobs for which the quantity is known
-- column: error [ratio]: Prediction error: absolute difference of predicted and actual run time over the actual one
-- column: within_factor_2_pct: Share of the predictions between half and twice the actual run time
create or replace macro unified.duration_predictability(
    gpu_only boolean := true,
    -- number of jobs that ended last over which a median is taken [1 to 100]
    last_jobs bigint := 5,
    in_trace varchar := null
) as table
with counted as (
    select
        trace,
        user_id,
        group_id,
        submit_s,
        run_s,
        -- If the end is unknown, assumes that the job did not wait: this is the earliest possible end.
        coalesce(end_s, submit_s + run_s) as end_s,
        submit_s is not null and coalesce(run_s, 0) > 0 as is_whole
    from unified.jobs
    where stats.is_chosen(trace, in_trace) and (not gpu_only or requested_gpus > 0)
),

jobs as (
    select
        trace,
        user_id,
        group_id,
        submit_s,
        run_s,
        end_s
    from counted
    where is_whole
),

owners as (
    select distinct
        trace,
        'user' as kind,
        user_id as owner_id
    from jobs
    where user_id is not null
    union all
    select distinct
        trace,
        'group' as kind,
        group_id as owner_id
    from jobs
    where group_id is not null
    union all
    select distinct
        trace,
        'trace' as kind,
        cast(null as varchar) as owner_id
    from jobs
),

-- Numbers are cheap to compare.
histories as (
    select
        trace,
        kind,
        owner_id,
        row_number() over (order by trace, kind, owner_id) as history_number
    from owners
),

-- A job belongs to the histories of its user, its group and the trace.
members as (
    select
        histories.history_number,
        jobs.submit_s,
        jobs.run_s,
        jobs.end_s
    from jobs
    inner join histories
        on jobs.trace = histories.trace and jobs.user_id = histories.owner_id and histories.kind = 'user'
    union all
    select
        histories.history_number,
        jobs.submit_s,
        jobs.run_s,
        jobs.end_s
    from jobs
    inner join histories
        on jobs.trace = histories.trace and jobs.group_id = histories.owner_id and histories.kind = 'group'
    union all
    select
        histories.history_number,
        jobs.submit_s,
        jobs.run_s,
        jobs.end_s
    from jobs
    inner join histories on jobs.trace = histories.trace and histories.kind = 'trace'
),

-- The bound is valid even if last_jobs is not, so that the error message is about the parameter.
ended as (
    select
        history_number,
        end_s,
        run_s as last_run_s,
        list(run_s) over (
            partition by history_number
            order by end_s, submit_s, run_s
            rows between greatest(coalesce(last_jobs, 1), 1) - 1 preceding and current row
        ) as last_runs_s,
        lead(end_s) over (partition by history_number order by end_s, submit_s, run_s) as next_end_s
    from members
),

-- The predictions after each second in which jobs ended.
known as (
    select
        history_number,
        end_s,
        last_run_s,
        list_median(last_runs_s) as median_run_s
    from ended
    where next_end_s is distinct from end_s
),

-- A job that ends in the second of a submission does not count as ended yet.
predicted as (
    select
        members.history_number,
        members.run_s,
        known.last_run_s,
        known.median_run_s
    from members
    asof inner join known
        on members.history_number = known.history_number and members.submit_s > known.end_s
),

compared as (
    select
        histories.trace,
        histories.kind,
        abs(predicted.last_run_s - predicted.run_s) / predicted.run_s as error_of_last,
        abs(predicted.median_run_s - predicted.run_s) / predicted.run_s as error_of_median,
        predicted.last_run_s between predicted.run_s / 2 and 2 * predicted.run_s as is_last_near,
        predicted.median_run_s between predicted.run_s / 2 and 2 * predicted.run_s as is_median_near
    from predicted
    inner join histories on predicted.history_number = histories.history_number
),

measured as (
    select
        trace,
        kind,
        count(*) as predicted_jobs,
        stats.percentiles(error_of_last) as error_of_last,
        stats.percentiles(error_of_median) as error_of_median,
        count(*) filter (where is_last_near) as last_within_factor_2_jobs,
        count(*) filter (where is_median_near) as median_within_factor_2_jobs
    from compared
    group by trace, kind
),

errors as (
    select
        trace,
        'last of ' || kind as predictor,
        predicted_jobs,
        error_of_last.median as median_error,
        error_of_last.p75 as p75_error,
        error_of_last.p90 as p90_error,
        error_of_last.p95 as p95_error,
        error_of_last.p99 as p99_error,
        last_within_factor_2_jobs as within_factor_2_jobs
    from measured
    union all
    select
        trace,
        'median of ' || kind as predictor,
        predicted_jobs,
        error_of_median.median as median_error,
        error_of_median.p75 as p75_error,
        error_of_median.p90 as p90_error,
        error_of_median.p95 as p95_error,
        error_of_median.p99 as p99_error,
        median_within_factor_2_jobs as within_factor_2_jobs
    from measured
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

comment on macro table unified.duration_predictability is
'How well the run times of jobs that ended before a job was submitted predict its run time, per trace and '
'predictor. The predictor is the run time of the job that ended last, or the median run time of the '
'last_jobs jobs that ended last (of all, if there were fewer), among jobs of the same user, of the same '
'group, or of the trace, in any cluster. jobs counts all jobs of the trace, or those that request a GPU '
'with gpu_only. whole_run_pct is the percentage of them with a submission and a whole run time above 0 s; '
'only these are predicted and used for prediction. A job counts as ended if its end is less than the '
'submission; where the end is unknown (ITP), submission plus run time replaces it, as if the job had not '
'waited. Of jobs that ended in the same second, the one submitted last counts as last, then the longest. '
'predicted_jobs counts jobs with at least one such earlier job; covered_pct is their share of the jobs '
'with a whole run time. The error is the absolute difference of predicted and actual run time over the '
'actual one, as a ratio, with interpolated percentiles; within_factor_2_pct is the percentage of '
'predictions between half and twice the actual run time. Predictors cover different jobs; errors are NULL '
'where nothing is predicted, as in traces without users or groups.';
