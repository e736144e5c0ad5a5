-- One row for each PAI worker, re-runs removed by the publisher's own rule.
-- grain: one row per worker_name
-- source: utils.py of cluster-trace-gpu-v2020: sort by status, start_time and end_time, keep the last
-- caveat: pai.worker_name_repeats
-- caveat: pai.sentinel_zero_start
create or replace view pai.worker_v1 as
with timed as (
    select
        worker_name,
        job_name,
        task_name,
        inst_name,
        inst_id,
        machine,
        status,
        nullif(start_time, 0) as start_s,
        nullif(end_time, 0) as end_s
    from pai.instance
    where worker_name is not null
),

-- The rule sorts the statuses as words, and pandas sorts what is missing last.
ranked as (
    select
        *,
        count(*) over (partition by worker_name) as runs,
        max(case when status = 'Terminated' then 1 else 0 end) over (partition by worker_name) as terminated,
        row_number() over (
            partition by worker_name
            order by status desc, start_s desc nulls first, end_s desc nulls first, inst_name asc
        ) as place
    from timed
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
    status = 'Waiting' and terminated = 1 as is_waiting_over_terminated
from ranked
where place = 1;

comment on view pai.worker_v1 is 'One row for each PAI worker, re-runs removed by the publisher''s own rule.';
comment on column pai.worker_v1.worker_name is 'Worker; measured.';
comment on column pai.worker_v1.job_name is 'Job; measured.';
comment on column pai.worker_v1.task_name is 'Task, its role in the job; measured.';
comment on column pai.worker_v1.inst_name is 'Instance of the task; measured.';
comment on column pai.worker_v1.inst_id is 'Id of the job, despite its name; measured.';
comment on column pai.worker_v1.machine is 'Machine that the worker ran on; measured.';
comment on column pai.worker_v1.status is 'Status of the run that the rule keeps; measured.';
comment on column pai.worker_v1.start_s is 'Start in seconds of the shifted clock; NULL where it never started; measured.';
comment on column pai.worker_v1.end_s is 'End in seconds of the shifted clock; NULL where it never ended; measured.';
comment on column pai.worker_v1.run_s is 'Seconds from start to end; NULL where either is missing; derived.';
comment on column pai.worker_v1.runs is 'Rows that the worker has in pai.instance; derived.';
comment on column pai.worker_v1.is_waiting_over_terminated is 'Whether the rule kept a waiting run although another had terminated, as Waiting sorts last; derived.';
