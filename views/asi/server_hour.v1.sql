-- GPU servers by hour, with the GPU time that pods of each priority held (ASI).
-- grain: one row per (day, hour_of_day, server_id)
-- source: docs/schema.md and scripts of cluster-trace-gpu-v2026
-- caveat: asi.lp_counts_on_standby_first: idle_standby_gpu_h
-- caveat: asi.states_of_one_week: hp_gpu_h hp_standby_gpu_h idle_standby_gpu_h active_gpu_h hp_standby_requested_gpus active_requested_gpus
-- caveat: asi.switches_are_uneven: switch
-- caveat: asi.undisclosed_models: gpu_model shown_model
-- resolves_caveat: asi.pods_without_gpu
-- resolves_caveat: asi.standby_counts_twice
-- materialize: parquet per partition
create or replace view asi.server_hour_v1 as
with pods as (
    select
        day,
        hour_of_day,
        server_id,
        priority,
        is_standby,
        requested_gpus,
        requested_cpus,
        held_gpu_h
    from asi.pod_hour_v1
),

held as (
    select
        day,
        hour_of_day,
        server_id,
        stats.fsum(
            case when priority = 'HP' and not is_standby and requested_gpus > 0 then held_gpu_h end
        ) as hp_gpu_h,
        stats.fsum(
            case when priority = 'HP' and is_standby and requested_gpus > 0 then held_gpu_h end
        ) as hp_standby_gpu_h,
        stats.fsum(case when priority = 'LP' and requested_gpus > 0 then held_gpu_h end) as lp_gpu_h,
        stats.fsum(
            case when priority in ('HP', 'LP') and not is_standby and requested_gpus > 0 then held_gpu_h end
        ) as active_gpu_h,
        stats.fsum(case when priority = 'HP' then requested_cpus end) as hp_requested_cpus,
        stats.fsum(case when priority = 'HP' then requested_gpus end) as hp_requested_gpus,
        stats.fsum(
            case when priority = 'HP' and is_standby then requested_gpus end
        ) as hp_standby_requested_gpus,
        stats.fsum(case when priority = 'LP' then requested_gpus end) as lp_requested_gpus,
        stats.fsum(
            case when priority in ('HP', 'LP') and not is_standby then requested_gpus end
        ) as active_requested_gpus,
        count(*) filter (where requested_gpus > 0) as gpu_pods,
        count(*) filter (where priority = 'HP') as hp_pods
    from pods
    group by day, hour_of_day, server_id
),

servers as (
    select
        day,
        hour as hour_of_day,
        server_id,
        cluster_id,
        asw_id,
        gpu_spec_public,
        gpu_count,
        cpu_capacity_cores,
        -- 0 for what pods in some state hold, unless states are unknown: they are known on the days of asi.pod_hour.
        case when day between 109 and 115 then 0 end as none_by_state
    from asi.server_hourly
    where gpu_count > 0
)

select
    servers.day,
    servers.hour_of_day,
    servers.server_id,
    servers.cluster_id as cluster,
    servers.asw_id as switch,
    servers.gpu_spec_public as gpu_model,
    coalesce(known.shown_model, servers.gpu_spec_public) as shown_model,
    servers.gpu_count as gpus,
    servers.cpu_capacity_cores as cpus,
    coalesce(held.hp_gpu_h, servers.none_by_state) as hp_gpu_h,
    coalesce(held.hp_standby_gpu_h, servers.none_by_state) as hp_standby_gpu_h,
    servers.none_by_state
    + greatest(coalesce(held.hp_standby_gpu_h, 0) - coalesce(held.lp_gpu_h, 0), 0) as idle_standby_gpu_h,
    coalesce(held.lp_gpu_h, 0) as lp_gpu_h,
    coalesce(held.active_gpu_h, servers.none_by_state) as active_gpu_h,
    coalesce(held.hp_requested_cpus, 0) as hp_requested_cpus,
    coalesce(held.hp_requested_gpus, 0) as hp_requested_gpus,
    coalesce(held.hp_standby_requested_gpus, servers.none_by_state) as hp_standby_requested_gpus,
    coalesce(held.lp_requested_gpus, 0) as lp_requested_gpus,
    coalesce(held.active_requested_gpus, servers.none_by_state) as active_requested_gpus,
    coalesce(held.gpu_pods, 0) as gpu_pods,
    coalesce(held.hp_pods, 0) as hp_pods
from servers
left join held
    on
        servers.day = held.day
        and servers.hour_of_day = held.hour_of_day
        and servers.server_id = held.server_id
left join asi.shown_model_v1 as known on split_part(servers.gpu_spec_public, '-', 1) = known.shown_model;

comment on column asi.server_hour_v1.switch is 'Access switch, as a hash; NULL if not recorded; measured.';
comment on column asi.server_hour_v1.shown_model is 'GPU model as in the publisher''s figures: without its variant, if asi.shown_model has it; derived.';
comment on column asi.server_hour_v1.gpus is 'GPUs of the server; measured.';
comment on column asi.server_hour_v1.cpus is 'CPU cores of the server; measured.';
comment on column asi.server_hour_v1.hp_gpu_h is 'GPU time held by HP pods that are not in standby; NULL except on days 109 to 115; derived.';
comment on column asi.server_hour_v1.hp_standby_gpu_h is 'GPU time held by HP pods in standby; NULL except on days 109 to 115; derived.';
comment on column asi.server_hour_v1.idle_standby_gpu_h is 'GPU time that HP pods hold in standby beyond what LP pods of the server hold; NULL except on days 109 to 115; derived.';
comment on column asi.server_hour_v1.lp_gpu_h is 'GPU time held by LP pods; derived.';
comment on column asi.server_hour_v1.active_gpu_h is 'GPU time held by HP and LP pods that are not in standby; NULL except on days 109 to 115; derived.';
comment on column asi.server_hour_v1.hp_requested_cpus is 'CPU cores requested by HP pods, those without a GPU included; derived.';
comment on column asi.server_hour_v1.hp_requested_gpus is 'GPUs requested by HP pods; derived.';
comment on column asi.server_hour_v1.hp_standby_requested_gpus is 'GPUs requested by HP pods in standby; NULL except on days 109 to 115; derived.';
comment on column asi.server_hour_v1.lp_requested_gpus is 'GPUs requested by LP pods; derived.';
comment on column asi.server_hour_v1.active_requested_gpus is 'GPUs requested by HP and LP pods that are not in standby; NULL except on days 109 to 115; derived.';
comment on column asi.server_hour_v1.gpu_pods is 'Pods with a GPU on the server; derived.';
comment on column asi.server_hour_v1.hp_pods is 'HP pods on the server, those without a GPU included; derived.';
