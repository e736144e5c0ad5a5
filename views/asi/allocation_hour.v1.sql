-- GPU time held, and its use, by hour, place in the fleet and priority (ASI).
-- grain: one row per (day, hour_of_day, shown_model, cluster, switch, priority)
-- source: docs/schema.md and scripts of cluster-trace-gpu-v2026
-- caveat: asi.requested_is_not_used: held_gpu_h standby_gpu_h
-- caveat: asi.states_of_one_week: held_gpu_h standby_gpu_h measured_gpu_h busy_gpu_h
-- caveat: asi.undisclosed_models: shown_model
-- resolves_caveat: asi.pods_without_gpu
-- resolves_caveat: asi.standby_counts_twice
-- materialize: parquet per partition
create or replace view asi.allocation_hour_v1 as
with pods as (
    select
        day,
        hour_of_day,
        server_id,
        coalesce(priority, 'Other') as known_priority,
        stats.fsum(case when not is_standby then held_gpu_h end) as held_gpu_h,
        stats.fsum(case when is_standby then held_gpu_h end) as standby_gpu_h,
        stats.fsum(case when not is_standby and gpu_pct is not null then held_gpu_h end) as measured_gpu_h,
        stats.fsum(case when not is_standby then pod.held_gpu_h * gpu_pct / 100 end) as busy_gpu_h
    from asi.pod_hour_v1 as pod
    where requested_gpus > 0
    group by day, hour_of_day, server_id, coalesce(priority, 'Other')
)

-- A priority without pods holds 0, or NULL where states are unknown.
select
    server.day,
    server.hour_of_day,
    server.shown_model,
    server.cluster,
    server.switch,
    priorities.priority,
    stats.fsum(server.gpus) as capacity_gpu_h,
    coalesce(stats.fsum(pods.held_gpu_h), 0 * min(server.hp_gpu_h)) as held_gpu_h,
    coalesce(stats.fsum(pods.standby_gpu_h), 0 * min(server.hp_gpu_h)) as standby_gpu_h,
    coalesce(stats.fsum(pods.measured_gpu_h), 0 * min(server.hp_gpu_h)) as measured_gpu_h,
    coalesce(stats.fsum(pods.busy_gpu_h), 0 * min(server.hp_gpu_h)) as busy_gpu_h
from asi.server_hour_v1 as server
cross join (values ('HP'), ('LP'), ('Other')) as priorities (priority)
left join pods
    on
        server.day = pods.day
        and server.hour_of_day = pods.hour_of_day
        and server.server_id = pods.server_id
        and priorities.priority = pods.known_priority
group by
    server.day,
    server.hour_of_day,
    server.shown_model,
    server.cluster,
    server.switch,
    priorities.priority;

comment on column asi.allocation_hour_v1.priority is 'Priority of the pods that hold the GPU time: HP (high priority), LP (low priority) or Other, also if it is not recorded; derived.';
comment on column asi.allocation_hour_v1.capacity_gpu_h is 'GPU time of the servers, repeated for each priority; derived.';
comment on column asi.allocation_hour_v1.held_gpu_h is 'GPU time held by GPU pods that are not in standby; NULL except on days 109 to 115; derived.';
comment on column asi.allocation_hour_v1.standby_gpu_h is 'GPU time held by GPU pods in standby; NULL except on days 109 to 115; derived.';
comment on column asi.allocation_hour_v1.measured_gpu_h is 'Part of held_gpu_h that pods with a measured SM utilisation hold; NULL as held_gpu_h; derived.';
comment on column asi.allocation_hour_v1.busy_gpu_h is 'GPU time of these pods, each weighted by its SM utilisation; NULL as held_gpu_h; derived.';
