-- Prefix reuse by cache size (LLM requests of all traces)
-- chart: line x=cache_blocks:log y=hit_pct color=workload facet=trace xname=cache_size_in_blocks yname=reused_blocks_pct note=A cache that drops the least recently used block, empty at first. Traces without prefix blocks are left out.
-- column: cache_blocks: Blocks that the cache can contain
-- column: hit_pct: Share of the accesses to prefix blocks that find the block in the cache
create or replace macro unified.prefix_reuse_by_cache(
    -- [list of unified.requests.trace]
    in_trace varchar := null
) as table
with accesses as (
    select
        trace,
        workload,
        count(*) as blocks,
        count(*) - count(previous_position) as distinct_blocks
    from unified.prefix_accesses
    where stats.is_chosen(trace, in_trace)
    group by trace, workload
),

sizes as (select unnest([100, 300, 1000, 3000, 10000, 30000, 100000, 300000]) as cache_blocks),

caches as (
    select
        accesses.trace,
        accesses.workload,
        accesses.blocks,
        cast(sizes.cache_blocks as bigint) as cache_blocks
    from accesses
    cross join sizes
    where sizes.cache_blocks < accesses.distinct_blocks
    union all
    select
        trace,
        workload,
        blocks,
        distinct_blocks as cache_blocks
    from accesses
),

distances as (
    select
        trace,
        workload,
        other_blocks,
        count(*) as reused_blocks
    from unified.prefix_distances
    where stats.is_chosen(trace, in_trace)
    group by trace, workload, other_blocks
)

select
    caches.trace,
    caches.workload,
    caches.cache_blocks,
    100.0 * coalesce(sum(distances.reused_blocks), 0) / max(caches.blocks) as hit_pct
from caches
left join distances
    on
        caches.trace = distances.trace
        and caches.workload is not distinct from distances.workload
        and caches.cache_blocks > distances.other_blocks
group by caches.trace, caches.workload, caches.cache_blocks
order by caches.trace, caches.workload nulls last, caches.cache_blocks;

comment on macro table unified.prefix_reuse_by_cache is
'Percentage of the accesses to prefix blocks that find their block in a cache of cache_blocks blocks, which '
'drops the least recently used one, per trace and workload. Counted are the accesses by all requests with an '
'arrival whose blocks the trace publishes, in the order of arrival. The last row of a workload is a cache for '
'all its distinct blocks, which has no limit in effect. Multiply by block_tokens of unified.requests for the '
'size in tokens. The cache is empty at first, so the share in the service is higher. Traces without prefix '
'blocks have no rows.';
