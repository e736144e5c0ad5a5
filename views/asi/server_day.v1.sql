-- GPUs of servers by day, as last seen on the day (ASI).
-- grain: one row per (day, server_id, shown_model)
-- source: docs/schema.md and scripts of cluster-trace-gpu-v2026
-- caveat: asi.undisclosed_models: shown_model
-- materialize: parquet per partition
create or replace view asi.server_day_v1 as
with numbered as (
    select
        day,
        server_id,
        shown_model,
        gpus,
        row_number() over (partition by day, server_id, shown_model order by hour_of_day desc) as place
    from asi.server_hour_v1
)

select
    day,
    server_id,
    shown_model,
    gpus
from numbered
where place = 1;

comment on column asi.server_day_v1.gpus is 'GPUs of the server in its last hour of the day; measured.';
