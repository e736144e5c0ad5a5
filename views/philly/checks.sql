-- Data-quality rules of Philly. Each counts the rows that break it.

-- check: philly.job.status
-- object: philly.job
-- kind: range
-- rule: status is Pass, Killed or Failed
select count(*)
from philly.job
where status not in ('Pass', 'Killed', 'Failed');

-- check: philly.job.in_period
-- object: philly.job
-- kind: range
-- rule: a job is submitted from 2017-08-07 to 2017-12-22
select count(*)
from philly.job
where submitted_time < timestamp '2017-08-07 00:00:00' or submitted_time >= timestamp '2017-12-23 00:00:00';

-- check: philly.attempt_machine.machine_listed
-- object: philly.attempt_machine
-- kind: reference
-- rule: an attempt's machine is in the machine list
select count(*)
from philly.attempt_machine as used
left join philly.machine as listed on used.ip = listed.machine_id
where
    used.ip is not null
    and listed.machine_id is null
    and exists (select 1 from philly.machine);

-- check: philly.gpu_util.machine_listed
-- object: philly.gpu_util
-- kind: reference
-- rule: a measured machine is in the machine list
select count(*)
from philly.gpu_util as used
left join philly.machine as listed on used.machine_id = listed.machine_id
where
    used.machine_id is not null
    and listed.machine_id is null
    and exists (select 1 from philly.machine);

-- check: philly.machine.lists_what_is_used
-- object: philly.machine
-- kind: range
-- rule: attempts use no more GPUs of a machine than are listed
-- caveat: philly.machine_list_disagrees
with used as (
    select
        ip,
        unnest(gpus) as gpu
    from philly.attempt_machine
),

of_log as (
    select
        ip,
        count(distinct gpu) as used_gpus
    from used
    group by ip
)

select count(*)
from philly.machine as listed
inner join of_log on listed.machine_id = of_log.ip
where of_log.used_gpus > listed.number_of_gpus;

-- check: philly.attempt.start_after_submit
-- object: philly.attempt
-- kind: range
-- rule: an attempt does not start before its job is submitted
select count(*)
from philly.attempt as attempt
inner join philly.job as job on attempt.jobid = job.jobid
where attempt.start_time < job.submitted_time;

-- check: philly.attempt.end_after_start
-- object: philly.attempt
-- kind: range
-- rule: an attempt does not end before it starts
select count(*)
from philly.attempt
where end_time < start_time;

-- check: philly.attempt.one_after_another
-- object: philly.attempt
-- kind: range
-- rule: an attempt does not start before the one before it ends
select count(*)
from philly.attempt as attempt
inner join philly.attempt as earlier
    on attempt.jobid = earlier.jobid and attempt.attempt = earlier.attempt + 1
where attempt.start_time < earlier.end_time;

-- check: philly.attempt.has_times
-- object: philly.attempt
-- kind: coverage
-- rule: an attempt has a start and an end
-- caveat: philly.attempts_lack_times
select count(*)
from philly.attempt
where start_time is null or end_time is null;

-- check: philly.gpu_util.percent
-- object: philly.gpu_util
-- kind: range
-- rule: use of a GPU is from 0 to 100
select count(*)
from philly.gpu_util
where
    least(gpu0_util, gpu1_util, gpu2_util, gpu3_util, gpu4_util, gpu5_util, gpu6_util, gpu7_util) < 0
    or greatest(gpu0_util, gpu1_util, gpu2_util, gpu3_util, gpu4_util, gpu5_util, gpu6_util, gpu7_util) > 100;

-- check: philly.cpu_util.percent
-- object: philly.cpu_util
-- kind: range
-- rule: use of processors is from 0 to 100
select count(*)
from philly.cpu_util
where cpu_util < 0 or cpu_util > 100;

-- check: philly.mem_util.free_of_total
-- object: philly.mem_util
-- kind: range
-- rule: memory that is free is from 0 to all of it
select count(*)
from philly.mem_util
where mem_free < 0 or mem_free > mem_total;
