-- PAI workers, one row each: of re-runs, the run with the best outcome is kept.
-- grain: one row per worker_name
-- source: this project; the publisher's rule, which sorts statuses as words, is that of pai.worker
-- caveat: pai.failed_time_unknown: start_s end_s run_s
-- caveat: pai.gpu_sharing_needs_device: machine
-- caveat: pai.shifted_clock: start_s end_s
-- caveat: pai.terminated_is_success: status is_publishers_choice
-- resolves_caveat: pai.worker_name_repeats
create or replace view pai.worker_by_outcome_v2 as
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
                    when 'Interrupted' then 3
                    when 'Running' then 4
                    when 'Waiting' then 5
                    else 6
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

comment on column pai.worker_by_outcome_v2.status is 'Status of the kept run: the best one, of Terminated, Failed, Interrupted, Running and Waiting in this order; measured.';
