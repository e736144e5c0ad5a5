-- Scheduling latency of jobs as the publisher defines it: from the job's start to its first task's (PAI).
-- grain: one row per job that started and has a task that started
-- source: README of cluster-trace-gpu-v2020, pai_task_table: start_time
-- caveat: pai.scheduling_latency_zero: submit_s scheduling_latency_s
-- caveat: pai.shifted_clock: submit_s
-- resolves_caveat: pai.empty_start_is_waiting
create or replace view pai.scheduling_latency_v1 as
with first_task as (
    select
        job_name,
        min(start_time) as first_start_time
    from pai.task
    where start_time > 0
    group by job_name
)

select
    job.job_name,
    job.status,
    job.start_time as submit_s,
    first_task.first_start_time - job.start_time as scheduling_latency_s
from pai.job as job
inner join first_task on job.job_name = first_task.job_name
where job.start_time > 0;

comment on column pai.scheduling_latency_v1.submit_s is 'Start of the job, which the publisher calls its submission, in seconds of the shifted clock; measured.';
comment on column pai.scheduling_latency_v1.scheduling_latency_s is 'Seconds from the job''s start to its first task''s; 0 in every job checked so far; derived.';
