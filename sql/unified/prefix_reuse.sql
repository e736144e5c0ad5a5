-- Prefix reuse by workload (LLM requests of all traces)
-- answers: prefix reuse
-- resolves_caveat: azure_llm.sample_of_an_hour
-- resolves_caveat: burstgpt.ramp_up
-- resolves_caveat: genai.request_clock_is_shifted
-- resolves_caveat: mooncake.arrivals_on_a_grid
-- chart: bar x=workload y=reuse_pct color=trace yname=reused_blocks_pct note=An unlimited cache, empty at first. Traces without prefix blocks are left out.
-- column: requests: Requests whose prefix blocks the trace publishes
-- column: blocks: Accesses to prefix blocks
-- column: distinct_blocks: Distinct prefix blocks
-- column: reused_blocks: Accesses to a block that the cache contains
-- column: reuse_pct: Share of the accesses to prefix blocks that find the block in the cache
create or replace macro unified.prefix_reuse(
    -- [list of unified.requests.trace]
    in_trace varchar := null,
    -- blocks that the cache can contain, of which it drops the one not used for the longest time; NULL is no
    -- limit [0 to 1000000000000]
    cache_blocks bigint := null
) as table
with requests as (
    select
        trace,
        workload,
        count(*) as requests
    from unified.requests
    where arrival_s is not null and prefix_blocks is not null and stats.is_chosen(trace, in_trace)
    group by trace, workload
),

accesses as (
    select
        trace,
        workload,
        count(*) as blocks,
        count(*) - count(previous_position) as distinct_blocks,
        count(previous_position) filter (where cache_blocks is null) as reused_blocks
    from unified.prefix_accesses
    where stats.is_chosen(trace, in_trace)
    group by trace, workload
),

-- Without a limit, nobody needs the distances, and the filter keeps them from being computed. With a limit, these
-- are the reused blocks, and those above are 0.
hits as (
    select
        trace,
        workload,
        count(*) as reused_blocks
    from unified.prefix_distances
    where
        cache_blocks is not null
        and stats.is_chosen(trace, in_trace)
        and other_blocks < cache_blocks
    group by trace, workload
),

reuse as (
    select
        requests.trace,
        requests.workload,
        requests.requests,
        coalesce(accesses.blocks, 0) as blocks,
        coalesce(accesses.distinct_blocks, 0) as distinct_blocks,
        coalesce(accesses.reused_blocks, 0) + coalesce(hits.reused_blocks, 0) as reused_blocks
    from requests
    left join accesses
        on requests.trace = accesses.trace and requests.workload is not distinct from accesses.workload
    left join hits on requests.trace = hits.trace and requests.workload is not distinct from hits.workload
)

select
    trace,
    workload,
    requests,
    blocks,
    distinct_blocks,
    reused_blocks,
    100.0 * reused_blocks / nullif(blocks, 0) as reuse_pct
from reuse
order by trace, workload nulls last;

comment on macro table unified.prefix_reuse is
'Accesses to prefix blocks per trace and workload, by all requests with an arrival whose blocks the trace '
'publishes, in the order of arrival. reused_blocks are accesses to a block that an earlier access left in a '
'cache of cache_blocks blocks, or without a limit to a block that was accessed before, also by the same '
'request. Every access inserts its block; the least recently used one is dropped. distinct_blocks depends on '
'no cache. Blocks that were in use before the trace count as new, so the share in the service is higher. '
'Traces without prefix blocks have no rows.';
