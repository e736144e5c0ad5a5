-- Fleet by day and GPU model (ASI servers)
-- chart: line x=day y=gpus facet=gpu_model
-- column: day [no unit]: Day since the start of the trace
-- column: servers: Servers seen on the day
-- column: new_servers: Servers that do not occur in an earlier hour of the loaded days
-- column: gpus: GPUs of the servers, mean over the hours of the day
create or replace macro asi.fleet_by_day(from_day integer := 0, to_day integer := 184) as table
with first_days as (
    select
        server_id,
        min(day) as first_day
    from asi.server_hour
    group by server_id
),

hours as (
    select
        day,
        count(distinct hour_of_day) as hours
    from asi.server_hour
    where day between from_day and to_day
    group by day
)

select
    server.day,
    server.shown_model as gpu_model,
    count(distinct server.server_id) as servers,
    count(distinct case when server.day = first_days.first_day then server.server_id end) as new_servers,
    stats.fsum(server.gpus) / max(hours.hours) as gpus
from asi.server_hour as server
inner join first_days on server.server_id = first_days.server_id
inner join hours on server.day = hours.day
group by server.day, server.shown_model
order by server.day, server.shown_model;

comment on macro table asi.fleet_by_day is 'Servers and GPUs of each day by GPU model, and servers seen for the first time. On the first loaded day all servers are new. A server that is missing for some hours of a day counts for the others.';
