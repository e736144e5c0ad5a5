-- PAI workers, one row each: of re-runs, the run with the best outcome is kept.
-- grain: one row per worker_name
-- source: this project; the publisher's rule, which sorts statuses as words, is that of pai.worker
-- caveat: pai.failed_time_unknown: start_s end_s run_s
-- caveat: pai.worker_name_repeats: worker_name
-- caveat: pai.sentinel_zero_start: start_s end_s run_s is_publishers_choice
-- caveat: pai.terminated_is_success: status is_publishers_choice
create or replace view pai.worker_by_outcome_v1 as
with repeated as (
    select
        worker_name,
        status,
        start_s,
        end_s,
        runs
    from pai.worker_v1
    where runs > 1
),

timed as (
    select
        instance.worker_name,
        instance.job_name,
        instance.task_name,
        instance.inst_name,
        instance.inst_id,
        instance.machine,
        instance.status,
        case when instance.start_time > 0 then instance.start_time end as start_s,
        case when instance.end_time > 0 then instance.end_time end as end_s,
        repeated.runs,
        repeated.status as publishers_status,
        repeated.start_s as publishers_start_s,
        repeated.end_s as publishers_end_s
    from pai.instance as instance
    inner join repeated on instance.worker_name = repeated.worker_name
),

-- Prefers runs that succeeded, then runs that ended; of several such runs, the later one.
ranked as (
    select
        *,
        row_number() over (
            partition by worker_name
            order by
                case status
                    when 'Terminated' then 1
                    when 'Failed' then 2
                    when 'Running' then 3
                    when 'Waiting' then 4
                    else 5
                end asc,
                start_s desc nulls last,
                end_s desc nulls last,
                inst_name asc nulls last
        ) as place
    from timed
),

-- For a worker with one run, every rule keeps that run.
kept as (
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
        runs,
        true as is_publishers_choice
    from pai.worker_v1
    where runs = 1
    union all
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
        runs,
        (
            status is not distinct from publishers_status
            and start_s is not distinct from publishers_start_s
            and end_s is not distinct from publishers_end_s
        ) as is_publishers_choice
    from ranked
    where place = 1
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
    is_publishers_choice
from kept;

comment on column pai.worker_by_outcome_v1.worker_name is 'Worker; measured.';
comment on column pai.worker_by_outcome_v1.job_name is 'Job; measured.';
comment on column pai.worker_by_outcome_v1.task_name is 'Task, its role in the job; measured.';
comment on column pai.worker_by_outcome_v1.inst_name is 'Instance of the task; measured.';
comment on column pai.worker_by_outcome_v1.inst_id is 'Id of the job, in spite of its name; measured.';
comment on column pai.worker_by_outcome_v1.machine is 'Machine of the kept run; measured.';
comment on column pai.worker_by_outcome_v1.status is 'Status of the kept run: the best one, of Terminated, Failed, Running and Waiting in this order; measured.';
comment on column pai.worker_by_outcome_v1.start_s is 'Start in seconds of the shifted clock; NULL if it never started; measured.';
comment on column pai.worker_by_outcome_v1.end_s is 'End in seconds of the shifted clock; NULL if it never ended; measured.';
comment on column pai.worker_by_outcome_v1.run_s is 'Seconds from start to end; NULL if either is missing; derived.';
comment on column pai.worker_by_outcome_v1.is_publishers_choice is 'Whether the publisher''s rule, as in pai.worker, keeps a run of the same status, start and end; derived.';
