-- Prefix reuse by age (LLM requests of all traces)
-- resolves_caveat: mooncake.published_hit_rates
-- chart: line x=max_age_s:log y=reused_pct color=workload facet=trace xname=time_since_the_last_use_s yname=reuses_within_this_time_pct note=An unlimited cache, empty at first. Traces without prefix blocks are left out.
-- column: max_age_s: Longest time since the last access to the block
-- column: reused_blocks: Accesses to a block at most max_age_s after the last access to it
-- column: reused_pct: Share of all reuses of prefix blocks
create or replace macro unified.prefix_reuse_by_age(
    -- [list of unified.requests.trace]
    in_trace varchar := null
) as table
with accesses as (
    select
        trace,
        workload,
        previous_position,
        age_s
    from unified.prefix_accesses
    where stats.is_chosen(trace, in_trace)
),

ages as (select unnest([1, 10, 60, 600, 3600, 86400]) as max_age_s)

select
    accesses.trace,
    accesses.workload,
    ages.max_age_s,
    count(case when accesses.age_s <= ages.max_age_s then 1 end) as reused_blocks,
    100.0 * count(case when accesses.age_s <= ages.max_age_s then 1 end)
    / nullif(count(accesses.previous_position), 0) as reused_pct
from accesses
cross join ages
group by accesses.trace, accesses.workload, ages.max_age_s
order by accesses.trace, accesses.workload nulls last, ages.max_age_s;

comment on macro table unified.prefix_reuse_by_age is
'Reuses of prefix blocks per trace and workload by the time since the last access to the block, from one '
'arrival to the other: 0 within a request. Counted are the accesses by all requests with an arrival whose '
'blocks the trace publishes. reused_pct is the percentage of the reuses at most max_age_s old of all reuses; '
'NULL if there is none. A trace of an hour contains no older ones, so compare traces only up to their span. '
'Traces without prefix blocks have no rows.';
