-- Data-quality rules of Philly. Each counts the rows that break it.

-- check: philly.machine.lists_what_is_used
-- object: philly.machine
-- kind: range
-- rule: attempts use at most the listed GPUs of a machine
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
-- rule: no attempt starts before its job is submitted
select count(*)
from philly.attempt as attempt
inner join philly.job as job on attempt.jobid = job.jobid
where attempt.start_time < job.submitted_time;

-- check: philly.attempt.one_after_another
-- object: philly.attempt
-- kind: range
-- rule: no attempt starts before the previous one ends
select count(*)
from philly.attempt as attempt
inner join philly.attempt as earlier
    on attempt.jobid = earlier.jobid and attempt.attempt = earlier.attempt + 1
where attempt.start_time < earlier.end_time;
