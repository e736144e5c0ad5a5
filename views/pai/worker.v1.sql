-- PAI workers, one row each: re-runs are removed by the publisher's rule.
-- grain: one row per worker_name
-- source: utils.py of cluster-trace-gpu-v2020: sort by status, start_time and end_time, keep the last
-- caveat: pai.failed_time_unknown: start_s end_s run_s
-- caveat: pai.gpu_sharing_needs_device: machine
-- caveat: pai.shifted_clock: start_s end_s
-- resolves_caveat: pai.worker_name_repeats
create or replace view pai.worker_v1 as
-- One worker in a hundred ran more than once.
with kept as (
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
    anti join pai.rerun_worker_v1 as rerun on instance.worker_name = rerun.worker_name
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
    from pai.rerun_worker_v1
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
comment on column pai.worker_v1.job_name is 'Name of the job, anonymised; measured.';
comment on column pai.worker_v1.task_name is 'Role of the task in its job, such as ps or worker; measured.';
comment on column pai.worker_v1.inst_name is 'Name of the instance within its task; measured.';
comment on column pai.worker_v1.inst_id is 'Id of the job, not of an instance; one for each job_name; measured.';
comment on column pai.worker_v1.machine is 'Machine, anonymised; measured.';
comment on column pai.worker_v1.status is 'Status of the run that the publisher''s rule keeps; measured.';
comment on column pai.worker_v1.start_s is 'Start in seconds of the shifted clock; NULL if it never started; measured.';
comment on column pai.worker_v1.end_s is 'End in seconds of the shifted clock; NULL if it never ended; measured.';
comment on column pai.worker_v1.run_s is 'Seconds from start to end; NULL if either is missing; derived.';
comment on column pai.worker_v1.runs is 'Rows of the worker in pai.instance; derived.';
comment on column pai.worker_v1.is_waiting_over_terminated is 'Whether the rule kept a waiting run although another had terminated, as Waiting sorts last; derived.';
