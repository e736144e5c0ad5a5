-- A JSON object per request, which load generators replay. A trace without prefix blocks has no hash_ids.
-- Source: README of kvcache-ai/Mooncake, FAST25-release.
select
    -- from arrival_s: milliseconds since the first exported request, divided by --rate-factor
    rounded(offset_s * 1000) as "timestamp",
    -- from input_tokens
    input_tokens as input_length,
    -- from output_tokens
    output_tokens as output_length,
    -- from prefix_blocks [optional]
    prefix_blocks as hash_ids,
    block_tokens <> 512 as "hash_ids: with another size of blocks than Mooncake's 512 tokens: see block_tokens",
from request
order by number
