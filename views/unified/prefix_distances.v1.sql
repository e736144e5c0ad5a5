-- Reuses of prefix blocks, each with the number of other blocks that were accessed since the last access.
-- grain: one row per (trace, workload, position)
-- source: Mattson et al., Evaluation techniques for storage hierarchies (1970): a cache of n blocks that drops the
-- least recently used one contains the block if fewer than n others were accessed
-- materialize: parquet
create or replace view unified.prefix_distances_v1 as
with reuses as (
    select
        trace,
        workload,
        position,
        previous_position,
        row_number() over (partition by trace, workload order by position) as reuse_number,
        count(*) over (partition by trace, workload) as reuses
    from unified.prefix_accesses_v1
    where previous_position is not null
),

levels as (select unnest(generate_series(0, 40)) as level),

-- Counts for each reuse the earlier reuses with a smaller previous_position, without comparing all pairs of reuses.
-- On each level, runs of 2^level reuses form pairs. On exactly one level, two reuses are in both runs of a pair.
runs as (
    select
        reuses.trace,
        reuses.workload,
        reuses.position,
        reuses.previous_position,
        reuses.reuse_number,
        levels.level,
        cast(floor(reuses.reuse_number / pow(2, levels.level)) as bigint) as run
    from reuses
    inner join levels on pow(2, levels.level) <= reuses.reuses
),

counted as (
    select
        trace,
        workload,
        position,
        previous_position,
        reuse_number,
        run,
        count(case when run % 2 = 0 then 1 end) over (
            partition by trace, workload, level, run // 2
            order by previous_position rows between unbounded preceding and current row
        ) as earlier_reuses
    from runs
)

-- Each other block counts at its first access after previous_position: an access whose own previous access is earlier
-- than previous_position, or that has none (position - reuse_number accesses). Subtracts those up to previous_position.
select
    trace,
    workload,
    position,
    cast(
        position - reuse_number - previous_position
        + sum(case when run % 2 = 1 then earlier_reuses else 0 end) as bigint
    ) as other_blocks
from counted
group by trace, workload, position, previous_position, reuse_number;

comment on column unified.prefix_distances_v1.other_blocks is 'Distinct other blocks that were accessed since the last access to this block; derived.';
