-- PAI jobs with their group tags: recurring group, requested GPU type and workload.
-- grain: one row per job_name
-- source: README of cluster-trace-gpu-v2020, pai_group_tag_table; group or user as in its utils.py
-- answers: group or recurrence, workload
-- caveat: pai.empty_start_is_waiting: submit_s
-- caveat: pai.group_falls_back_to_user: group_id is_group_from_user
-- caveat: pai.shifted_clock: submit_s
-- caveat: pai.workload_tag_is_rare: workload
-- resolves_caveat: pai.gpu_type_is_assigned
-- resolves_caveat: pai.group_tag_orphans
create or replace view pai.job_group_v1 as
select
    job.job_name,
    job.inst_id,
    job."user" as user_id,
    job.status,
    case when job.start_time > 0 then job.start_time end as submit_s,
    tag.inst_id is not null as is_tagged,
    coalesce(tag."group", job."user") as group_id,
    tag."group" is null as is_group_from_user,
    tag.gpu_type_spec as requested_gpu_type,
    tag.workload
from pai.job as job
left join pai.group_tag as tag on job.inst_id = tag.inst_id;

comment on column pai.job_group_v1.submit_s is 'Start of the job, which the publisher calls its submission, in seconds of the shifted clock; measured.';
comment on column pai.job_group_v1.is_tagged is 'Whether the job has a group tag; derived.';
comment on column pai.job_group_v1.group_id is 'Group of jobs with similar inputs; the user if there is no group; derived.';
comment on column pai.job_group_v1.is_group_from_user is 'Whether group_id is the user, as the job has no group; derived.';
