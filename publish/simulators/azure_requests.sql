-- A line per request, as in Azure's LLM inference traces. Times have seven decimals, as .NET writes them.
-- Source: AzureLLMInferenceDataset2023.md of Azure/AzurePublicDataset.
with timed as (
    -- A clock without dates counts from the start of the trace.
    select *, case when has_dates then min(arrival_s) over () + offset_s end as date_s
    from request
    cross join (
        select bool_and(starts_with(epoch, '1970-01-01')) as has_dates from catalog.clocks where trace = $trace
    ) as clock
)

select
    -- from arrival_s: on the trace's clock; time since the first exported request divided by --rate-factor
    -- [seconds since the first exported request, divided by --rate-factor, starting on --first-day]
    otherwise(azure_time(date_s), azure_time(epoch(cast($first_day as date)) + offset_s)) as "TIMESTAMP",
    -- from input_tokens
    input_tokens as "ContextTokens",
    -- from output_tokens
    output_tokens as "GeneratedTokens",
from timed
order by number
