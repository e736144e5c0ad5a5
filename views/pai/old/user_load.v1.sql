-- Jobs, tasks, instances and GPU-hours of each user, and the user's rank by instances (PAI).
-- grain: one row per user of pai.job
-- source: README of cluster-trace-gpu-v2020, pai_job_table: user; MLaaS in the Wild (NSDI 2022) ranks users so
-- caveat: pai.sentinel_zero_start: gpu_h
-- caveat: pai.plan_is_per_instance: gpu_tasks gpu_h
-- caveat: pai.tasks_without_instances
-- Version 2 gives the same rows.
create or replace view pai.user_load_v1 as
select
    user_id,
    jobs,
    tasks,
    gpu_tasks,
    instances,
    gpu_h,
    failed_jobs,
    instance_rank
from pai.user_load_v2;

comment on column pai.user_load_v1.jobs is 'Jobs of the user; derived.';
comment on column pai.user_load_v1.tasks is 'Tasks of the user''s jobs; derived.';
comment on column pai.user_load_v1.gpu_tasks is 'Tasks that request a GPU or a part of one; derived.';
comment on column pai.user_load_v1.instances is 'Rows of the user''s jobs in pai.instance, one for each launch of an instance; derived.';
comment on column pai.user_load_v1.gpu_h is 'GPU-hours requested, fractions of GPUs included, over the launches with a start and a later end; derived.';
comment on column pai.user_load_v1.failed_jobs is 'Jobs with the status Failed; derived.';
comment on column pai.user_load_v1.instance_rank is 'Rank of the user by instances, 1 for the most; ties are ordered by name [no unit]; derived.';
