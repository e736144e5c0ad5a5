-- GPUs saved by sharing (PAI instances)
-- resolves_caveat: pai.notebook_week_starts_later
-- column: hours [h]: Hours that the means are over
-- column: mean_requested_gpus: Mean requested GPUs
-- column: mean_gpus_if_whole [GPUs]: Mean number of GPUs held if none could be shared
-- column: saved_gpus: GPUs saved by sharing
-- column: saved_pct: Share that sharing saves
-- column: peak_hour [no unit]: First hour of the greatest saving, on the trace's clock
create or replace macro pai.sharing_savings(from_hour bigint := 0, to_hour bigint := 100000) as table
with savings as (
    select
        hour,
        requested_gpus,
        requested_gpus_if_whole,
        requested_gpus_if_whole - requested_gpus as saved_gpus
    from pai.demand_hourly
    where hour between from_hour and to_hour
),

-- Rounds before sorting: equal sums may differ in their last digits.
ranked as (
    select
        *,
        row_number() over (order by round(saved_gpus, 6) desc, hour asc) as place
    from savings
)

select
    count(*) as hours,
    stats.favg(requested_gpus) as mean_requested_gpus,
    stats.favg(requested_gpus_if_whole) as mean_gpus_if_whole,
    stats.favg(saved_gpus) as mean_saved_gpus,
    100.0 * stats.fsum(saved_gpus) / nullif(stats.fsum(requested_gpus_if_whole), 0) as saved_pct,
    max(saved_gpus) as peak_saved_gpus,
    min(case when place = 1 then hour end) as peak_hour
from ranked;

comment on macro table pai.sharing_savings is 'GPUs that running instances requested, compared with the GPUs they would hold if no GPU could be shared: means over the hours, and the first hour of the largest saving.';
