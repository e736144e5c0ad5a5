-- PAI workers, one row each: re-runs are removed by the publisher's rule.
-- grain: one row per worker_name
-- source: utils.py of cluster-trace-gpu-v2020: sort by status, start_time and end_time, keep the last
-- caveat: pai.worker_name_repeats: worker_name
-- caveat: pai.sentinel_zero_start: start_s end_s run_s
-- materialize: parquet of repeated by worker_name
-- materialize: parquet of ranked by worker_name
create or replace view pai.worker_v1 as
-- One worker in a hundred ran more than once. Ranking is costly, so only these are ranked.
with repeated as (
    select
        worker_name,
        count(*) as runs,
        count(*) filter (where status = 'Terminated') as terminated_runs
    from pai.instance
    where worker_name is not null
    group by worker_name
    having count(*) > 1
),

-- The rule sorts statuses alphabetically. Missing values come last, as in pandas.
ranked as (
    select
        instance.worker_name,
        instance.job_name,
        instance.task_name,
        instance.inst_name,
        instance.inst_id,
        instance.machine,
        instance.status,
        instance.start_time,
        instance.end_time,
        repeated.runs,
        repeated.terminated_runs,
        row_number() over (
            partition by instance.worker_name
            order by
                instance.status desc nulls first,
                case when instance.start_time > 0 then instance.start_time end desc nulls first,
                case when instance.end_time > 0 then instance.end_time end desc nulls first,
                instance.inst_name asc nulls last
        ) as place
    from pai.instance as instance
    inner join repeated on instance.worker_name = repeated.worker_name
),

kept as (
    select
        instance.worker_name,
        instance.job_name,
        instance.task_name,
        instance.inst_name,
        instance.inst_id,
        instance.machine,
        instance.status,
        instance.start_time,
        instance.end_time,
        1 as runs,
        0 as terminated_runs
    from pai.instance as instance
    anti join repeated on instance.worker_name = repeated.worker_name
    where instance.worker_name is not null
    union all
    select
        worker_name,
        job_name,
        task_name,
        inst_name,
        inst_id,
        machine,
        status,
        start_time,
        end_time,
        runs,
        terminated_runs
    from ranked
    where place = 1
),

timed as (
    select
        worker_name,
        job_name,
        task_name,
        inst_name,
        inst_id,
        machine,
        status,
        case when start_time > 0 then start_time end as start_s,
        case when end_time > 0 then end_time end as end_s,
        runs,
        terminated_runs
    from kept
)

select
    worker_name,
    job_name,
    task_name,
    inst_name,
    inst_id,
    machine,
    status,
    start_s,
    end_s,
    end_s - start_s as run_s,
    runs,
    coalesce(status, '') = 'Waiting' and terminated_runs > 0 as is_waiting_over_terminated
from timed;

comment on column pai.worker_v1.worker_name is 'Worker; measured.';
comment on column pai.worker_v1.status is 'Status of the run that the publisher''s rule keeps; measured.';
comment on column pai.worker_v1.start_s is 'Start in seconds of the shifted clock; NULL if it never started; measured.';
comment on column pai.worker_v1.end_s is 'End in seconds of the shifted clock; NULL if it never ended; measured.';
comment on column pai.worker_v1.run_s is 'Seconds from start to end; NULL if either is missing; derived.';
comment on column pai.worker_v1.runs is 'Rows of the worker in pai.instance; derived.';
comment on column pai.worker_v1.is_waiting_over_terminated is 'Whether the rule kept a waiting run although another had terminated, as Waiting sorts last; derived.';
