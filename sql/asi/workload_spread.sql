-- Spread over switches and clusters by size (ASI workloads)
-- answers: machine placement
-- chart: stack x=gpu_band y=workloads_pct color=spread count=workloads xname=requested_gpus
-- column: gpu_band: Band of the GPUs that a workload requests in its peak hour
-- column: spread: What the GPU pods of the workload share in that hour
-- column: workloads [workloads]: Workloads with a GPU
-- column: workloads_pct: Share of the workloads of the band
-- column: requested_gpus: GPUs that these workloads request in their peak hours
-- column: mean_servers: Mean number of servers of a workload in its peak hour
create or replace macro asi.workload_spread(from_day integer := 109, to_day integer := 115) as table
with numbered as (
    select
        requested_gpus,
        servers,
        switches,
        clusters,
        unknown_switch_pods,
        row_number() over (
            partition by workload_id order by round(requested_gpus, 6) desc, day asc, hour_of_day asc
        ) as place
    from asi.workload_hour
    where day between from_day and to_day
),

peaks as (
    select
        requested_gpus,
        servers,
        case
            when requested_gpus < 8 then 'below 8'
            when requested_gpus < 9 then '8'
            when requested_gpus < 65 then '9 to 64'
            when requested_gpus < 513 then '65 to 512'
            else 'above 512'
        end as gpu_band,
        case
            when servers = 1 then 1
            when clusters > 1 then 4
            when unknown_switch_pods > 0 then 5
            when switches = 1 then 2
            else 3
        end as spread_number
    from numbered
    where place = 1
),

spreads as (
    select
        known.spread_number,
        known.spread
    from (
        values
        (1, 'one server'),
        (2, 'one switch'),
        (3, 'several switches'),
        (4, 'several clusters'),
        (5, 'unknown switch')
    ) as known (spread_number, spread)
),

counted as (
    select
        gpu_band,
        spread_number,
        count(*) as workloads,
        min(requested_gpus) as least_gpus,
        stats.fsum(requested_gpus) as requested_gpus,
        stats.favg(servers) as mean_servers
    from peaks
    group by gpu_band, spread_number
),

banded as (
    select
        gpu_band,
        min(least_gpus) as least_gpus
    from counted
    group by gpu_band
)

select
    counted.gpu_band,
    spreads.spread,
    counted.workloads,
    100.0 * counted.workloads / sum(counted.workloads) over (partition by counted.gpu_band) as workloads_pct,
    counted.requested_gpus,
    counted.mean_servers
from counted
inner join spreads on counted.spread_number = spreads.spread_number
inner join banded on counted.gpu_band = banded.gpu_band
order by banded.least_gpus, counted.spread_number;

comment on macro table asi.workload_spread is
'Whether the GPU pods of a workload share a server, an access switch or a cluster, in the hour in which '
'the workload requests most GPUs, the first of equals. Several switches are those of one cluster. The '
'switch is unknown if a server has none recorded. Pods without a workload, most of them of low priority, '
'are left out.';
