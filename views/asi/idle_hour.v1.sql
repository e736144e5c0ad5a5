-- Idle GPUs and CPU cores of GPU servers by hour, as HP pods leave them (ASI).
-- grain: one row per (day, hour_of_day, server_id)
-- source: scripts of cluster-trace-gpu-v2026
-- caveat: asi.states_of_one_week: idle_gpus
-- caveat: asi.undisclosed_models: gpu_model shown_model
create or replace view asi.idle_hour_v1 as
select
    day,
    hour_of_day,
    server_id,
    gpu_model,
    shown_model,
    gpus,
    -- The greatest of NULL and 0 would be 0.
    case when hp_gpu_h is not null then greatest(gpus - (hp_gpu_h + idle_standby_gpu_h), 0) end as idle_gpus,
    greatest(cpus - hp_requested_cpus, 0) as idle_cpus
from asi.server_hour_v1;

comment on column asi.idle_hour_v1.idle_gpus is 'GPUs that HP pods do not hold, and standby pods not beyond what LP pods use; NULL except on days 109 to 115; derived.';
comment on column asi.idle_hour_v1.idle_cpus is 'CPU cores that HP pods do not request; derived.';
