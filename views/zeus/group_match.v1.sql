-- Groups of recurring jobs that Zeus replays, matched with the groups of PAI.
-- grain: one row per (group_id, dataset)
-- source: README of the Zeus traces, Alibaba group trace: group, as in pai_group_tag_table
-- answers: group or recurrence
-- caveat: zeus.alibaba_groups_is_a_schedule
-- caveat: pai.shifted_clock
create or replace view zeus.group_match_v1 as
with groups as (
    select
        "group" as group_id,
        dataset,
        count(*) as jobs,
        min(start_time) as first_start_s,
        max(end_time) as last_end_s
    from zeus.alibaba_group
    group by "group", dataset
),

tagged as (
    select
        "group" as group_id,
        count(*) as pai_jobs
    from pai.group_tag
    group by "group"
)

select
    groups.group_id,
    groups.dataset,
    groups.jobs,
    groups.first_start_s,
    groups.last_end_s,
    coalesce(tagged.pai_jobs, 0) as pai_jobs,
    coalesce(tagged.pai_jobs, 0) > 0 as pai_group_matches
from groups
left join tagged on groups.group_id = tagged.group_id;

comment on column zeus.group_match_v1.jobs is 'Jobs of the group in the schedule; derived.';
comment on column zeus.group_match_v1.first_start_s is 'Start of its first job in seconds of PAI''s shifted clock; derived.';
comment on column zeus.group_match_v1.last_end_s is 'End of the job that ends last in seconds of PAI''s shifted clock; derived.';
comment on column zeus.group_match_v1.pai_jobs is 'Jobs that PAI tags with the group; derived.';
comment on column zeus.group_match_v1.pai_group_matches is 'Whether PAI tags any job with the group; derived.';
