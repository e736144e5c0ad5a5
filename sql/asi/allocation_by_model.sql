-- Allocated GPUs by GPU model (ASI servers)
-- chart: bar x=gpu_model y=allocated_pct
-- column: server_hours: Servers and hours that are counted
-- column: hp_allocated_pct: GPU time held by HP pods in percent of the GPUs, standby that LP pods do not use included
-- column: allocated_pct: GPU time held by HP and LP pods in percent of the GPUs, standby that LP pods do not use included
create or replace macro asi.allocation_by_model(from_day integer := 109, to_day integer := 115) as table
with servers as (
    select
        day,
        hour_of_day,
        shown_model,
        round((hp_gpu_h + greatest(hp_standby_gpu_h - lp_gpu_h, 0)) / gpus, 6) as hp_ratio,
        round(
            (least(active_gpu_h, gpus) + greatest(hp_standby_gpu_h - lp_gpu_h, 0)) / gpus, 6
        ) as ratio
    from asi.server_hour
    where day between from_day and to_day and (hour_of_day % 2 = 0 or hour_of_day = 23)
),

hours as (
    select
        day,
        hour_of_day,
        shown_model,
        count(*) as server_hours,
        favg(hp_ratio) as hp_ratio,
        favg(ratio) as ratio
    from servers
    group by day, hour_of_day, shown_model
)

select
    shown_model as gpu_model,
    cast(sum(server_hours) as bigint) as server_hours,
    100 * favg(hp_ratio) as hp_allocated_pct,
    100 * favg(ratio) as allocated_pct
from hours
group by shown_model
order by gpu_model;

comment on macro table asi.allocation_by_model is 'Share of the GPUs that pods held in even hours and hour 23, as in the publisher''s gpu_spec_alloc_ratio: rounded per server, averaged over servers and then over hours. A pod that began within the hour counts for the time that it held its GPUs.';
