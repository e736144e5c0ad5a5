-- Idle GPU time in standby (ASI servers)
-- caveat: asi.lp_counts_on_standby_first
-- chart: bar x=class y=standby_gpu_h rule=idle_standby_gpu_h xname={per} note=Standby of pods of high priority; the mark is the part that no pod of low priority uses.
-- column: class: GPU model, cluster or hour of the day
-- column: standby_gpu_h: GPU time held by HP pods in standby
-- column: idle_standby_gpu_h: GPU time held by HP pods in standby that LP pods of the same server do not use
-- column: idle_pct: Share of the GPU time in standby that is idle
-- column: idle_of_all_pct: Idle GPU time in standby in percent of the GPUs of the class
create or replace macro asi.idle_standby(
    from_day integer := 109, to_day integer := 115, per varchar := 'gpu_model'
) as table
with servers as (
    select
        case per
            when 'gpu_model' then shown_model
            when 'cluster' then cluster
            else cast(hour_of_day as varchar)
        end as class,
        hour_of_day,
        hp_standby_gpu_h,
        idle_standby_gpu_h,
        -- Servers count while states are known.
        case when hp_gpu_h is not null then gpus end as gpus
    from asi.server_hour
    where day between from_day and to_day
)

select
    class,
    stats.fsum(hp_standby_gpu_h) as standby_gpu_h,
    stats.fsum(idle_standby_gpu_h) as idle_standby_gpu_h,
    100.0 * stats.fsum(idle_standby_gpu_h) / nullif(stats.fsum(hp_standby_gpu_h), 0) as idle_pct,
    100.0 * stats.fsum(idle_standby_gpu_h) / stats.fsum(gpus) as idle_of_all_pct
from servers
group by class
order by min(hour_of_day), class;

comment on macro table asi.idle_standby is 'GPU time that HP pods in standby hold, and the part of it that no LP pod uses. LP pods of a server count as users of its standby first, because the trace does not say which GPUs a pod has; the idle part is therefore a lower bound. Only hours of days 109 to 115 count, and values of other days are NULL: their standby is unknown.';
