-- Allocated GPUs by GPU model (ASI servers)
-- chart: bar x=gpu_model y=allocated_pct rule=hp_allocated_pct note=HP: high priority.
-- column: server_hours [server-hours]: Servers and hours that are counted
-- column: hp_allocated_pct: GPUs of HP pods in percent of all GPUs, including standby GPUs that LP pods do not use
-- column: allocated_pct: GPUs of HP and LP pods in percent of all GPUs, including standby GPUs that LP pods do not use
create or replace macro asi.allocation_by_model(
    from_day integer := 109,
    to_day integer := 115,
    -- count the GPU time that pods held, or the GPUs that they request [held requested]
    gpus_by varchar := 'held'
) as table
with servers as (
    select
        day,
        hour_of_day,
        shown_model,
        gpus,
        case gpus_by when 'held' then 1e6 else 1e15 end as steps,
        case gpus_by
            when 'held' then hp_gpu_h
            else hp_requested_gpus - hp_standby_requested_gpus
        end as hp_gpus,
        case gpus_by when 'held' then active_gpu_h else active_requested_gpus end as active_gpus,
        case
            when gpus_by = 'held' then idle_standby_gpu_h
            -- The greatest of NULL, for unknown states, and 0 would be 0.
            when hp_standby_requested_gpus is not null
                then greatest(hp_standby_requested_gpus - lp_requested_gpus, 0)
        end as standby_gpus
    from asi.server_hour
    where day between from_day and to_day and (hour_of_day % 2 = 0 or hour_of_day = 23)
),

-- A cast rounds halves to the even number, as the publisher's script does; round() does not.
hours as (
    select
        day,
        hour_of_day,
        shown_model,
        count(standby_gpus) as server_hours,
        stats.favg(cast(steps * (hp_gpus + standby_gpus) / gpus as bigint) / steps) as hp_ratio,
        stats.favg(cast(steps * (least(active_gpus, gpus) + standby_gpus) / gpus as bigint) / steps) as ratio
    from servers
    group by day, hour_of_day, shown_model
)

select
    shown_model as gpu_model,
    cast(sum(server_hours) as bigint) as server_hours,
    100 * stats.favg(hp_ratio) as hp_allocated_pct,
    100 * stats.favg(ratio) as allocated_pct
from hours
group by shown_model
order by gpu_model;

comment on macro table asi.allocation_by_model is
'Share of the GPUs that pods held in even hours and hour 23, as in the publisher''s gpu_spec_alloc_ratio: '
'averaged over servers and then over hours. The publisher counts the GPU time that pods held, so that a '
'pod that began within the hour counts less than it was allocated, and rounds the ratio of each server to '
'six digits. With gpus_by := requested, a pod counts with the GPUs that it requests, and nothing is '
'rounded; pods that follow each other within an hour then count together. Only hours of days 109 to 115 '
'count: on others, standby is unknown.';
