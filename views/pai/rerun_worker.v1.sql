-- PAI workers that ran more than once, one row each: the run that the publisher's rule keeps.
-- grain: one row per worker_name that occurs more than once
-- source: utils.py of cluster-trace-gpu-v2020: sort by status, start_time and end_time, keep the last
-- caveat: pai.failed_time_unknown: start_time end_time
-- caveat: pai.shifted_clock: start_time end_time
-- resolves_caveat: pai.worker_name_repeats
-- materialize: parquet by worker_name
create or replace view pai.rerun_worker_v1 as
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
)

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
where place = 1;

comment on column pai.rerun_worker_v1.worker_name is 'Worker; measured.';
comment on column pai.rerun_worker_v1.status is 'Status of the run that the publisher''s rule keeps; measured.';
comment on column pai.rerun_worker_v1.runs is 'Rows of the worker in pai.instance; derived.';
comment on column pai.rerun_worker_v1.terminated_runs is 'Rows of the worker in pai.instance with the status Terminated; derived.';
