-- Average power above the power limit by GPU (Zeus profiles)
-- resolves_caveat: zeus.max_power_differs
-- resolves_caveat: zeus.not_jobs
-- resolves_caveat: zeus.power_above_limit
-- resolves_caveat: zeus.ragged_power_grid
-- column: rows_over [rows]: Rows whose average power is above the limit
-- column: rows_over_pct: Share of the profiles whose average power is above the limit
-- column: largest_ratio: Largest ratio of average power to limit
create or replace macro zeus.power_over_limit() as table
select
    gpu,
    count(*) filter (where average_power > power_limit) as rows_over,
    count(*) as rows,
    100.0 * count(*) filter (where average_power > power_limit) / count(*) as rows_over_pct,
    max(average_power / nullif(power_limit, 0)) as largest_ratio
from zeus.power
group by gpu
order by gpu;

comment on macro table zeus.power_over_limit is 'Rows of the power trace whose average power is above the limit, all rows, the percentage of them, and the largest ratio of average power to limit.';
