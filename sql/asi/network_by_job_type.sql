-- Network use by kinds of jobs (ASI servers)
-- chart: box x=job_types y=traffic_gibps:log facet=direction
-- column: direction: Whether servers received or sent the traffic
-- column: server_hours [server-hours]: Hours of servers with more than 0.001 GiB/s
-- column: traffic_gibps: Mean traffic in an hour of a server, or of one of its GPUs
create or replace macro asi.network_by_job_type(
    from_day integer := 109,
    to_day integer := 115,
    -- divide the traffic by the GPUs of the server, and count servers of any number of GPUs instead of 8
    per_gpu boolean := false
) as table
with directions as (
    select known.direction
    from (values ('received'), ('sent')) as known (direction)
),

servers as (
    select
        job_types,
        gpus,
        received_gibps,
        sent_gibps
    from asi.network_hour
    where
        day between from_day and to_day
        and (per_gpu or gpus = 8)
        and job_types in (
            'dev',
            'offline',
            'online',
            'training',
            'offline+online',
            'offline+training'
        )
),

traffic as (
    select
        directions.direction,
        servers.job_types,
        servers.gpus,
        case directions.direction
            when 'received' then servers.received_gibps
            else servers.sent_gibps
        end as traffic_gibps
    from servers
    cross join directions
),

counted as (
    select
        direction,
        job_types,
        case when per_gpu then traffic_gibps / gpus else traffic_gibps end as traffic_gibps
    from traffic
    where traffic_gibps > 0.001 and gpus > 0
)

select
    direction,
    job_types,
    count(*) as server_hours,
    stats.percentiles(traffic_gibps).p5 as p5_traffic_gibps,
    stats.percentiles(traffic_gibps).p25 as p25_traffic_gibps,
    stats.percentiles(traffic_gibps).median as median_traffic_gibps,
    stats.percentiles(traffic_gibps).p75 as p75_traffic_gibps,
    stats.percentiles(traffic_gibps).p90 as p90_traffic_gibps,
    stats.percentiles(traffic_gibps).p95 as p95_traffic_gibps,
    stats.percentiles(traffic_gibps).p99 as p99_traffic_gibps
from counted
group by direction, job_types
order by direction, job_types;

comment on macro table asi.network_by_job_type is
'Mean traffic per hour of servers, by the kinds of jobs that their GPU pods have in that hour: by default '
'with the medians and 95th percentiles of the publisher''s server_network_cdf, over servers of 8 GPUs and '
'values above 0.001 GiB/s. Traffic is of the server, so that pods without a GPU and of an unknown kind '
'share it.';
