-- Network use of servers by hour, with the kinds of jobs on them (ASI).
-- grain: one row per (day, hour_of_day, server_id)
-- source: docs/schema.md and scripts of cluster-trace-gpu-v2026
-- caveat: asi.network_of_one_week
-- caveat: asi.types_are_unknown: job_types
-- resolves_caveat: asi.pods_without_gpu
-- materialize: parquet per partition
create or replace view asi.network_hour_v1 as
with kinds as (
    select
        day,
        hour_of_day,
        server_id,
        bool_or(job_type = 'dev') as has_dev,
        bool_or(job_type = 'offline_inference') as has_offline,
        bool_or(job_type = 'online_inference') as has_online,
        bool_or(job_type = 'training') as has_training
    from asi.pod_hour_v1
    where requested_gpus > 0
    group by day, hour_of_day, server_id
)

select
    network.day,
    network.hour as hour_of_day,
    network.server_id,
    server.gpus,
    nullif(
        concat_ws(
            '+',
            case when kinds.has_dev then 'dev' end,
            case when kinds.has_offline then 'offline' end,
            case when kinds.has_online then 'online' end,
            case when kinds.has_training then 'training' end
        ),
        ''
    ) as job_types,
    network.rx_gibps_avg as received_gibps,
    network.tx_gibps_avg as sent_gibps
from asi.network_hourly as network
left join asi.server_hour_v1 as server
    on
        network.day = server.day
        and network.hour = server.hour_of_day
        and network.server_id = server.server_id
left join kinds
    on
        network.day = kinds.day
        and network.hour = kinds.hour_of_day
        and network.server_id = kinds.server_id;

comment on column asi.network_hour_v1.job_types is 'Kinds of jobs of the GPU pods on the server, in alphabetical order and joined by +: dev, offline (inference), online (inference), training; NULL if there are none; derived.';
comment on column asi.network_hour_v1.received_gibps is 'Mean received traffic of the server; measured.';
comment on column asi.network_hour_v1.sent_gibps is 'Mean sent traffic of the server; measured.';
