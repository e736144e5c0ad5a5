-- Use of the GPU time that HP pods leave (ASI servers)
-- caveat: asi.lp_counts_on_standby_first
-- chart: stack x=class y=gpu_h_pct color=use xname={per} note=HP: high priority. LP: low priority.
-- column: class: GPU model, cluster or hour of the day
-- column: use: HP for GPU time of active HP pods; the remaining GPU time is LP, idle standby or free
-- column: gpu_h: GPU time of the servers of the class
-- column: gpu_h_pct: Share of the GPU time of the class
-- column: left_pct: Share of the GPU time that active HP pods leave; NULL for HP
create or replace macro asi.left_by_hp(
    from_day integer := 109, to_day integer := 115, per varchar := 'gpu_model'
) as table
with left_over as (
    select
        case per
            when 'gpu_model' then shown_model
            when 'cluster' then cluster
            else cast(hour_of_day as varchar)
        end as class,
        hour_of_day,
        -- NULL where states are unknown.
        case when hp_gpu_h is not null then gpus end as gpus,
        case when hp_gpu_h is not null then greatest(gpus - hp_gpu_h, 0) end as left_gpu_h,
        case when hp_gpu_h is not null then lp_gpu_h end as lp_gpu_h,
        idle_standby_gpu_h
    from asi.server_hour
    where day between from_day and to_day
),

parts as (
    select
        class,
        hour_of_day,
        gpus,
        left_gpu_h,
        least(lp_gpu_h, left_gpu_h) as by_lp_gpu_h,
        least(idle_standby_gpu_h, left_gpu_h - least(lp_gpu_h, left_gpu_h)) as idle_gpu_h
    from left_over
),

sums as (
    select
        class,
        min(hour_of_day) as first_hour,
        stats.fsum(gpus) as gpu_h,
        stats.fsum(left_gpu_h) as left_gpu_h,
        stats.fsum(by_lp_gpu_h) as by_lp_gpu_h,
        stats.fsum(idle_gpu_h) as idle_gpu_h
    from parts
    group by class
),

uses as (
    select
        known.place,
        known.use
    from (values (1, 'HP'), (2, 'LP'), (3, 'idle standby'), (4, 'free')) as known (place, use)
),

divided as (
    select
        sums.class,
        sums.first_hour,
        uses.place,
        uses.use,
        sums.gpu_h as all_gpu_h,
        sums.left_gpu_h,
        case uses.place
            when 1 then sums.gpu_h - sums.left_gpu_h
            when 2 then sums.by_lp_gpu_h
            when 3 then sums.idle_gpu_h
            else sums.left_gpu_h - sums.by_lp_gpu_h - sums.idle_gpu_h
        end as gpu_h
    from sums
    cross join uses
)

select
    class,
    use,
    gpu_h,
    100.0 * gpu_h / all_gpu_h as gpu_h_pct,
    case when place > 1 then 100.0 * gpu_h / nullif(left_gpu_h, 0) end as left_pct
from divided
order by first_hour, class, place;

comment on macro table asi.left_by_hp is
'GPU time of the servers by use: held by active HP pods; used by LP pods; held by HP pods in standby and '
'idle; free. LP pods of a server count as users of its standby first, and for no more than HP pods leave '
'there; the trace does not say which GPUs a pod has. Pods of other priorities count as free. '
'Only hours of days 109 to 115 count, and values of other days are NULL: their standby is unknown.';
