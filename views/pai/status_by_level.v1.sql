-- Final statuses of jobs, tasks and instances (PAI).
-- grain: one row per (level, status)
-- source: README of cluster-trace-gpu-v2020, pai_job_table, pai_task_table and pai_instance_table: status
-- answers: final state
-- caveat: pai.job_means_task_elsewhere
-- caveat: pai.status_mix_drifts: share_pct
-- caveat: pai.terminated_is_success: status
create or replace view pai.status_by_level_v1 as
with counted as (
    select
        'job' as level,
        status,
        count(*) as entries
    from pai.job
    group by status
    union all
    select
        'task' as level,
        status,
        count(*) as entries
    from pai.task
    group by status
    union all
    select
        'instance' as level,
        status,
        count(*) as entries
    from pai.instance
    group by status
)

select
    level,
    status,
    entries,
    100.0 * entries / sum(entries) over (partition by level) as share_pct
from counted;

comment on column pai.status_by_level_v1.level is 'What is counted: job, task or instance; derived.';
comment on column pai.status_by_level_v1.status is 'Status; only Terminated is a success; NULL if none is recorded; measured.';
comment on column pai.status_by_level_v1.entries is 'Rows with that status [entries]; derived.';
comment on column pai.status_by_level_v1.share_pct is 'Share of the level''s rows in percent; derived.';
