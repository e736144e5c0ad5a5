-- Network use distribution by kinds of jobs (ASI servers)
-- chart: step x=traffic_gibps:log y=percentile color=job_types yname=server_hours_pct
-- column: traffic_gibps: Mean traffic of a server in an hour
-- column: percentile [percent]: Percentage of the hours of servers with at most this traffic
create or replace macro asi.network_cdf(
    from_day integer := 109,
    to_day integer := 115,
    -- traffic that servers received or sent [received sent]
    direction varchar := 'received',
    -- count only hours with more traffic than this, in GiB/s [0 to 1000]
    above_gibps double := 0.001
) as table
with measured as (
    select
        job_types,
        case direction when 'received' then received_gibps else sent_gibps end as traffic_gibps
    from asi.network_hour
    where
        day between from_day and to_day
        and gpus = 8
        and job_types in (
            'dev',
            'offline',
            'online',
            'training',
            'offline+online',
            'offline+training'
        )
),

traffic as ( -- noqa: ST03
    select
        job_types,
        traffic_gibps,
        count(*) as server_hours
    from measured
    where traffic_gibps > above_gibps
    group by job_types, traffic_gibps
)

select
    series as job_types,
    value as traffic_gibps,
    percentile
from stats.cdf_points('traffic', job_types, traffic_gibps, server_hours)
order by job_types, traffic_gibps;

comment on macro table asi.network_cdf is
'Mean traffic per hour of servers of 8 GPUs, by the kinds of jobs that their GPU pods have in that hour, '
'as in the publisher''s server_network_cdf. Servers with other combinations of kinds are left out, and so '
'are hours with no more than above_gibps, which he leaves out of medians and 95th percentiles '
'(asi.network_by_job_type). A curve has at most 501 points.';
