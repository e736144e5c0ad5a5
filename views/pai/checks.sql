-- Data-quality rules of PAI. Each counts the rows that break it.
-- A time of 0, like an empty one, means that the event did not happen.
-- A rule that compares two tables counts 0 breaches if one of them has no rows. An anti join finds rows without a partner:
-- for millions of rows it needs a fraction of the memory of `not exists`.

-- check: pai.job.inst_id_key
-- object: pai.job
-- kind: key
-- rule: inst_id is unique, because it identifies the job
select coalesce(sum(copies - 1), 0)
from (
    select count(*) as copies
    from pai.job
    where inst_id is not null
    group by inst_id
    having count(*) > 1
) as duplicated;

-- check: pai.instance.worker_name_key
-- object: pai.instance
-- kind: key
-- rule: worker_name is unique
-- caveat: pai.worker_name_repeats
select coalesce(sum(copies - 1), 0)
from (
    select count(*) as copies
    from pai.instance
    where worker_name is not null
    group by worker_name
    having count(*) > 1
) as duplicated;

-- check: pai.group_tag.user_of_job
-- object: pai.group_tag
-- kind: reference
-- rule: a group tag and its job have the same user
select count(*)
from pai.group_tag as tag
inner join pai.job as job on tag.inst_id = job.inst_id
where tag."user" <> job."user";

-- check: pai.instance.one_task
-- object: pai.instance
-- kind: reference
-- rule: all runs of a worker belong to one task
with repeated as (
    select worker_name
    from pai.instance
    where worker_name is not null
    group by worker_name
    having count(*) > 1
),

divided as (
    select run.worker_name
    from pai.instance as run
    inner join repeated on run.worker_name = repeated.worker_name
    group by run.worker_name
    having min(run.job_name) <> max(run.job_name) or min(run.task_name) <> max(run.task_name)
)

select count(*) from divided;

-- check: pai.instance.inst_id_of_job
-- object: pai.instance
-- kind: reference
-- rule: an instance has the inst_id of its job
select count(*)
from pai.instance as instance
inner join pai.job as job on instance.job_name = job.job_name
where instance.inst_id <> job.inst_id;

-- check: pai.sensor.inst_id_of_job
-- object: pai.sensor
-- kind: reference
-- rule: a worker has the inst_id of its job
select count(*)
from pai.sensor as sensor
inner join pai.job as job on sensor.job_name = job.job_name
where sensor.inst_id <> job.inst_id;

-- check: pai.sensor.same_task
-- object: pai.sensor
-- kind: reference
-- rule: a worker has the same task as in instance
select count(*)
from pai.sensor as sensor
inner join pai.instance as instance on sensor.worker_name = instance.worker_name
where sensor.job_name <> instance.job_name or sensor.task_name <> instance.task_name;

-- check: pai.machine_metric.in_instance
-- object: pai.machine_metric
-- kind: reference
-- rule: every worker is in instance, with the same start and end
with agreeing as (
    select
        observed.worker_name,
        observed.start_time,
        observed.end_time
    from pai.machine_metric as observed
    inner join pai.instance as instance on observed.worker_name = instance.worker_name
    where
        instance.start_time = coalesce(observed.start_time, instance.start_time)
        and instance.end_time = coalesce(observed.end_time, instance.end_time)
)

select count(*)
from pai.machine_metric as metric
anti join agreeing
    on
        metric.worker_name = agreeing.worker_name
        and metric.start_time is not distinct from agreeing.start_time
        and metric.end_time is not distinct from agreeing.end_time
where
    metric.worker_name is not null
    and exists (select present.worker_name from pai.instance as present);

-- check: pai.task.starts_after_job
-- object: pai.task
-- kind: range
-- rule: no task starts before its job
select count(*)
from pai.task as task
inner join pai.job as job on task.job_name = job.job_name
where task.start_time > 0 and job.start_time > 0 and task.start_time < job.start_time;

-- check: pai.instance.starts_after_task
-- object: pai.instance
-- kind: range
-- rule: no instance starts before its task
select count(*)
from pai.instance as instance
inner join pai.task as task
    on instance.job_name = task.job_name and instance.task_name = task.task_name
where
    instance.start_time > 0
    and task.start_time > 0
    and instance.start_time < task.start_time;

-- check: pai.task.launched
-- object: pai.task
-- kind: range
-- rule: a task with instances has at least inst_num of them; more if some ran again
with launched as (
    select
        job_name,
        task_name,
        count(*) as launches
    from pai.instance
    group by job_name, task_name
)

select count(*)
from pai.task as task
inner join launched on task.job_name = launched.job_name and task.task_name = launched.task_name
where launched.launches < task.inst_num;

-- check: pai.sensor.same_machine
-- object: pai.sensor
-- kind: reference
-- rule: a worker's sensor row names a machine that the worker ran on
-- caveat: pai.sensor_covers_two_fifths
select count(*)
from (
    select sensor.worker_name
    from pai.sensor as sensor
    inner join pai.instance as instance on sensor.worker_name = instance.worker_name
    where sensor.machine is not null and instance.machine is not null
    group by sensor.worker_name
    having max(case when sensor.machine = instance.machine then 1 else 0 end) = 0
) as elsewhere;

-- check: pai.machine_metric.same_machine
-- object: pai.machine_metric
-- kind: reference
-- rule: a worker's metrics name a machine that the worker ran on
select count(*)
from (
    select metric.worker_name
    from pai.machine_metric as metric
    inner join pai.instance as instance on metric.worker_name = instance.worker_name
    where metric.machine is not null and instance.machine is not null
    group by metric.worker_name
    having max(case when metric.machine = instance.machine then 1 else 0 end) = 0
) as elsewhere;

-- check: pai.standard_job_v1.held_gpu_s
-- object: pai.standard_job_v1
-- kind: agreement
-- rule: its GPU time is equal to that of pai.demand_hourly
with held as (
    select
        (select coalesce(sum(held_gpu_s), 0) from pai.standard_job_v1) as by_job,
        (select coalesce(3600 * sum(requested_gpus), 0) from pai.demand_hourly_v1) as by_hour
)

select count(*)
from held
where abs(by_job - by_hour) > 1e-9 * by_hour;
