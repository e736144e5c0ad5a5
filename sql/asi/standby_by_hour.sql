-- GPU time in standby by hour (ASI HP pods)
-- caveat: asi.lp_counts_on_standby_first
-- chart: line x=hour y=standby_gpu_h rule=idle_standby_gpu_h note=HP: high priority.
-- column: day [no unit]: Day since the start of the trace
-- column: hour [no unit]: Hour since the start of the trace
-- column: standby_gpu_h: GPU time held by HP pods in standby
-- column: idle_standby_gpu_h: GPU time held by HP pods in standby that LP pods of the same server do not use
-- column: used_by_lp_ratio: GPU time of LP pods over that in standby, mean over servers with standby pods
create or replace macro asi.standby_by_hour(from_day integer := 109, to_day integer := 115) as table
select
    day,
    hour_of_day,
    24 * day + hour_of_day as hour,
    stats.fsum(hp_standby_gpu_h) as standby_gpu_h,
    stats.fsum(idle_standby_gpu_h) as idle_standby_gpu_h,
    stats.favg(case when hp_standby_gpu_h > 0 then lp_gpu_h / hp_standby_gpu_h end) as used_by_lp_ratio
from asi.server_hour
where day between from_day and to_day
group by day, hour_of_day
order by day, hour_of_day;

comment on macro table asi.standby_by_hour is 'GPU time that HP pods in standby held, and how much of it LP pods on the same server used, as in the publisher''s standby_temporal. His ratio is a mean over servers and may exceed 1; idle_standby_gpu_h is the time that LP pods leave. NULL except on days 109 to 115: on others, standby is unknown.';
