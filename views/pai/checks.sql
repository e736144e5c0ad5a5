-- Data-quality rules of PAI. Each counts the rows that break it.
-- A time of 0 means that it did not happen, as an empty one does.
-- A rule between two tables holds where both are there. Rows without a partner are found by an anti join: of
-- millions of rows it needs a fraction of the memory of `not exists`.

-- check: pai.job.inst_id_key
-- object: pai.job
-- kind: key
-- rule: inst_id is unique, for it names the job
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

-- check: pai.job.tagged
-- object: pai.job
-- kind: reference
-- rule: every job has a group tag
-- caveat: pai.group_tag_orphans
select count(*)
from pai.job as job
anti join pai.group_tag as tag on job.inst_id = tag.inst_id
where
    job.inst_id is not null
    and exists (select present.inst_id from pai.group_tag as present);

-- check: pai.group_tag.in_job
-- object: pai.group_tag
-- kind: reference
-- rule: every group tag is that of a job
-- caveat: pai.group_tag_orphans
select count(*)
from pai.group_tag as tag
anti join pai.job as job on tag.inst_id = job.inst_id
where
    tag.inst_id is not null
    and exists (select present.inst_id from pai.job as present);

-- check: pai.group_tag.user
-- object: pai.group_tag
-- kind: reference
-- rule: a group tag and its job have the same user
select count(*)
from pai.group_tag as tag
inner join pai.job as job on tag.inst_id = job.inst_id
where tag."user" <> job."user";

-- check: pai.task.in_job
-- object: pai.task
-- kind: reference
-- rule: every task is one of a job
select count(*)
from pai.task as task
anti join pai.job as job on task.job_name = job.job_name
where
    task.job_name is not null
    and exists (select present.job_name from pai.job as present);

-- check: pai.instance.in_task
-- object: pai.instance
-- kind: reference
-- rule: every instance is one of a task
select count(*)
from pai.instance as instance
anti join pai.task as task
    on instance.job_name = task.job_name and instance.task_name = task.task_name
where
    instance.job_name is not null
    and instance.task_name is not null
    and exists (select present.job_name from pai.task as present);

-- check: pai.instance.one_task
-- object: pai.instance
-- kind: reference
-- rule: the runs of a worker are all of one task
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

-- check: pai.instance.inst_id
-- object: pai.instance
-- kind: reference
-- rule: an instance has the inst_id of its job
select count(*)
from pai.instance as instance
inner join pai.job as job on instance.job_name = job.job_name
where instance.inst_id <> job.inst_id;

-- check: pai.instance.machine
-- object: pai.instance
-- kind: reference
-- rule: every machine is in machine_spec
select count(*)
from pai.instance as instance
anti join pai.machine_spec as spec on instance.machine = spec.machine
where
    instance.machine is not null
    and exists (select present.machine from pai.machine_spec as present);

-- check: pai.sensor.in_instance
-- object: pai.sensor
-- kind: reference
-- rule: every worker is in instance
select count(*)
from pai.sensor as sensor
anti join pai.instance as instance on sensor.worker_name = instance.worker_name
where
    sensor.worker_name is not null
    and exists (select present.worker_name from pai.instance as present);

-- check: pai.sensor.inst_id
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
-- rule: a worker is of the same task as in instance
select count(*)
from pai.sensor as sensor
inner join pai.instance as instance on sensor.worker_name = instance.worker_name
where sensor.job_name <> instance.job_name or sensor.task_name <> instance.task_name;

-- check: pai.sensor.machine
-- object: pai.sensor
-- kind: reference
-- rule: every machine is in machine_spec
-- caveat: pai.sensor_covers_two_fifths
select count(*)
from pai.sensor as sensor
anti join pai.machine_spec as spec on sensor.machine = spec.machine
where
    sensor.machine is not null
    and exists (select present.machine from pai.machine_spec as present);

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

-- check: pai.machine_metric.machine
-- object: pai.machine_metric
-- kind: reference
-- rule: every machine is in machine_spec
select count(*)
from pai.machine_metric as metric
anti join pai.machine_spec as spec on metric.machine = spec.machine
where
    metric.machine is not null
    and exists (select present.machine from pai.machine_spec as present);

-- check: pai.job.status
-- object: pai.job
-- kind: range
-- rule: status is Terminated, Failed, Running or Waiting
select count(*)
from pai.job
where status not in ('Terminated', 'Failed', 'Running', 'Waiting');

-- check: pai.task.status
-- object: pai.task
-- kind: range
-- rule: status is Terminated, Failed, Running or Waiting
select count(*)
from pai.task
where status not in ('Terminated', 'Failed', 'Running', 'Waiting');

-- check: pai.instance.status
-- object: pai.instance
-- kind: range
-- rule: status is Terminated, Failed, Running or Waiting
select count(*)
from pai.instance
where status not in ('Terminated', 'Failed', 'Running', 'Waiting');

-- check: pai.job.times
-- object: pai.job
-- kind: range
-- rule: no time is below 0, and no job ended before it started
select count(*)
from pai.job
where
    start_time < 0
    or end_time < 0
    or (start_time > 0 and end_time > 0 and end_time < start_time);

-- check: pai.task.times
-- object: pai.task
-- kind: range
-- rule: no time is below 0, and no task ended before it started
select count(*)
from pai.task
where
    start_time < 0
    or end_time < 0
    or (start_time > 0 and end_time > 0 and end_time < start_time);

-- check: pai.instance.times
-- object: pai.instance
-- kind: range
-- rule: no time is below 0, and no instance ended before it started
select count(*)
from pai.instance
where
    start_time < 0
    or end_time < 0
    or (start_time > 0 and end_time > 0 and end_time < start_time);

-- check: pai.instance.start_where_ended
-- object: pai.instance
-- kind: range
-- rule: an instance that ended has a start
-- caveat: pai.end_blanking_is_no_op
select count(*)
from pai.instance
where end_time > 0 and coalesce(start_time, 0) = 0;

-- check: pai.machine_metric.times
-- object: pai.machine_metric
-- kind: range
-- rule: no time is below 0, and no worker ended before it started
select count(*)
from pai.machine_metric
where
    start_time < 0
    or end_time < 0
    or (start_time > 0 and end_time > 0 and end_time < start_time);

-- check: pai.task.starts_after_job
-- object: pai.task
-- kind: range
-- rule: no task started before its job
select count(*)
from pai.task as task
inner join pai.job as job on task.job_name = job.job_name
where task.start_time > 0 and job.start_time > 0 and task.start_time < job.start_time;

-- check: pai.instance.starts_after_task
-- object: pai.instance
-- kind: range
-- rule: no instance started before its task
select count(*)
from pai.instance as instance
inner join pai.task as task
    on instance.job_name = task.job_name and instance.task_name = task.task_name
where
    instance.start_time > 0
    and task.start_time > 0
    and instance.start_time < task.start_time;

-- check: pai.task.inst_num
-- object: pai.task
-- kind: range
-- rule: inst_num is a whole number of at least 1
select count(*)
from pai.task
where inst_num < 1 or inst_num <> floor(inst_num);

-- check: pai.task.launched
-- object: pai.task
-- kind: range
-- rule: a task with instances has inst_num of them or, where some ran again, more
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

-- check: pai.task.plan
-- object: pai.task
-- kind: range
-- rule: no plan is below 0
select count(*)
from pai.task
where plan_cpu < 0 or plan_mem < 0 or plan_gpu < 0;

-- check: pai.task.plan_gpu
-- object: pai.task
-- kind: range
-- rule: plan_gpu is empty, not 0, for a task without a GPU
select count(*)
from pai.task
where plan_gpu = 0;

-- check: pai.task.gpu_type
-- object: pai.task
-- kind: range
-- rule: gpu_type is MISC, T4, P100, V100 or V100M32
select count(*)
from pai.task
where gpu_type not in ('MISC', 'T4', 'P100', 'V100', 'V100M32');

-- check: pai.group_tag.gpu_type_spec
-- object: pai.group_tag
-- kind: range
-- rule: gpu_type_spec is a type that tasks have: MISC, T4, P100, V100 or V100M32
select count(*)
from pai.group_tag
where gpu_type_spec not in ('MISC', 'T4', 'P100', 'V100', 'V100M32');

-- check: pai.sensor.non_negative
-- object: pai.sensor
-- kind: range
-- rule: no figure is below 0
select count(*)
from pai.sensor
where
    cpu_usage < 0
    or gpu_wrk_util < 0
    or avg_mem < 0
    or max_mem < 0
    or avg_gpu_wrk_mem < 0
    or max_gpu_wrk_mem < 0
    or "read" < 0
    or "write" < 0
    or read_count < 0
    or write_count < 0;

-- check: pai.sensor.maxima
-- object: pai.sensor
-- kind: range
-- rule: no mean of memory is above its maximum
select count(*)
from pai.sensor
where avg_mem > max_mem or avg_gpu_wrk_mem > max_gpu_wrk_mem;

-- check: pai.machine_spec.gpu_type
-- object: pai.machine_spec
-- kind: range
-- rule: gpu_type is a type that tasks have, or CPU
select count(*)
from pai.machine_spec
where gpu_type not in ('MISC', 'T4', 'P100', 'V100', 'V100M32', 'CPU');

-- check: pai.machine_spec.gpu_type_where_gpu
-- object: pai.machine_spec
-- kind: range
-- rule: gpu_type is CPU exactly where a machine has no GPU
select count(*)
from pai.machine_spec
where (gpu_type = 'CPU') <> (cap_gpu = 0);

-- check: pai.machine_spec.capacity
-- object: pai.machine_spec
-- kind: range
-- rule: a machine has CPU and memory, and no less than 0 GPUs
select count(*)
from pai.machine_spec
where cap_cpu <= 0 or cap_mem <= 0 or cap_gpu < 0;

-- check: pai.machine_metric.non_negative
-- object: pai.machine_metric
-- kind: range
-- rule: no figure is below 0
select count(*)
from pai.machine_metric
where
    machine_cpu_iowait < 0
    or machine_cpu_kernel < 0
    or machine_cpu_usr < 0
    or machine_gpu < 0
    or machine_load_1 < 0
    or machine_net_receive < 0
    or machine_num_worker < 0
    or machine_cpu < 0;

-- check: pai.sensor.same_machine
-- object: pai.sensor
-- kind: reference
-- rule: a worker was seen on a machine that it ran on
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
-- rule: a worker's metrics are those of a machine that it ran on
select count(*)
from (
    select metric.worker_name
    from pai.machine_metric as metric
    inner join pai.instance as instance on metric.worker_name = instance.worker_name
    where metric.machine is not null and instance.machine is not null
    group by metric.worker_name
    having max(case when metric.machine = instance.machine then 1 else 0 end) = 0
) as elsewhere;

-- check: pai.sensor.device
-- object: pai.sensor
-- kind: coverage
-- rule: a worker with a use of GPU names its device
select count(*)
from pai.sensor
where gpu_wrk_util is not null and gpu_name is null;

-- check: pai.machine_metric.machine_cpu
-- object: pai.machine_metric
-- kind: derived
-- rule: machine_cpu is machine_cpu_usr + machine_cpu_kernel + machine_cpu_iowait, within 1 point
select count(*)
from pai.machine_metric
where abs(machine_cpu - (machine_cpu_usr + machine_cpu_kernel + machine_cpu_iowait)) > 1;

-- check: pai.task.sized
-- object: pai.task
-- kind: coverage
-- rule: every task says how many instances it launches
select count(*)
from pai.task
where inst_num is null;

-- check: pai.job.start_unless_waiting
-- object: pai.job
-- kind: coverage
-- rule: start_time is empty on Waiting jobs only
select count(*)
from pai.job
where start_time is null and status <> 'Waiting';

-- check: pai.task.start_unless_waiting
-- object: pai.task
-- kind: coverage
-- rule: start_time is empty on Waiting tasks only
select count(*)
from pai.task
where start_time is null and status <> 'Waiting';

-- check: pai.job.end_where_ended
-- object: pai.job
-- kind: coverage
-- rule: a Terminated or Failed job has an end, and no other has one
-- caveat: pai.job_end_missing
select count(*)
from pai.job
where (status in ('Terminated', 'Failed')) <> (coalesce(end_time, 0) > 0);

-- check: pai.instance.named
-- object: pai.instance
-- kind: coverage
-- rule: every instance names its worker
-- caveat: pai.worker_name_repeats
select count(*)
from pai.instance
where worker_name is null;

-- check: pai.task.has_instances
-- object: pai.task
-- kind: coverage
-- rule: every task has an instance
-- caveat: pai.tasks_without_instances
select count(*)
from pai.task as task
anti join pai.instance as instance
    on task.job_name = instance.job_name and task.task_name = instance.task_name
where
    task.job_name is not null
    and task.task_name is not null
    and exists (select present.job_name from pai.instance as present);

-- check: pai.instance.has_sensor
-- object: pai.instance
-- kind: coverage
-- rule: every worker is in sensor
-- caveat: pai.sensor_covers_two_fifths
select count(*)
from pai.instance as instance
anti join pai.sensor as sensor on instance.worker_name = sensor.worker_name
where
    instance.worker_name is not null
    and exists (select present.worker_name from pai.sensor as present);

-- check: pai.sensor.used
-- object: pai.sensor
-- kind: coverage
-- rule: every worker has a use of CPU and of memory
-- caveat: pai.sensor_covers_two_fifths
select count(*)
from pai.sensor
where cpu_usage is null or avg_mem is null;

-- check: pai.group_tag.grouped
-- object: pai.group_tag
-- kind: coverage
-- rule: every tag has a group
-- caveat: pai.group_falls_back_to_user
select count(*)
from pai.group_tag
where "group" is null;

-- check: pai.standard_job_v1.held_gpu_s
-- object: pai.standard_job_v1
-- kind: agreement
-- rule: it holds the GPU time that pai.demand_hourly holds
with held as (
    select
        (select coalesce(sum(held_gpu_s), 0) from pai.standard_job_v1) as by_job,
        (select coalesce(3600 * sum(requested_gpus), 0) from pai.demand_hourly_v1) as by_hour
)

select count(*)
from held
where abs(by_job - by_hour) > 1e-9 * by_hour;
