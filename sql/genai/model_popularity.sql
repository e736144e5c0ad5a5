-- Popularity of base models and LoRA adapters (GenAI requests)
-- answers: workload
-- resolves_caveat: genai.requests_in_both_files
-- resolves_caveat: genai.requests_name_no_container
-- chart: line x=rank:log y=cumulative_pct xname=most_requested_models yname=requests_of_these_models_pct
-- column: rank [no unit]: Place among the models, from 1, the most requested first
-- column: model_id: Base model or LoRA adapter: a label, or a hash
-- column: requests: Requests that name the model
-- column: requests_pct: Share of the model in the requests of all models; a request counts for each LoRA that it names
-- column: cumulative_pct: Share of this model and the ones before it
create or replace macro genai.model_popularity(
    -- what is requested: base_model, or LoRA adapters, which are in data_trace_processed alone [base_model lora]
    kind varchar := 'base_model'
) as table
-- Many requests have the same list.
with lists as (
    select
        lora_args,
        count(*) as requests
    from genai.data_trace_processed
    where lora_args like '%modelVersionId%'
    group by lora_args
),

parts as (
    select
        lora_args,
        requests,
        unnest(string_split(lora_args, '''modelVersionId'': ''')) as part
    from lists
),

-- An id ends at the next quote. The first part is the beginning of the list.
adapters as (
    select distinct
        lora_args,
        requests,
        split_part(part, '''', 1) as model_id
    from parts
),

named as (
    select
        checkpoint_model_version_id as model_id,
        1 as requests
    from genai.lora_request_trace
    where kind = 'base_model' and checkpoint_model_version_id is not null
    union all
    select
        model_id,
        requests
    from adapters
    where kind = 'lora' and model_id <> '[{'
),

counted as (
    select
        model_id,
        cast(sum(requests) as bigint) as requests
    from named
    group by model_id
)

select
    row_number() over (order by requests desc, model_id asc) as rank,
    model_id,
    requests,
    100.0 * requests / sum(requests) over () as requests_pct,
    100.0 * sum(requests) over (order by requests desc, model_id asc rows unbounded preceding)
    / sum(requests) over () as cumulative_pct
from counted
order by rank;

comment on macro table genai.model_popularity is
'Requests per base model or LoRA adapter, the most requested first, with the share of each and of all up to it. Requests '
'in any state count. Base models are from lora_request_trace; in the published file, 25 of its 26,823 requests name none. '
'LoRA adapters are from data_trace_processed, as no other table names them. It covers more requests, without their times: '
'in the published file, 52,993 of its 68,195 requests name no adapter. A request counts once for each adapter that it '
'names, so shares are of these pairs. The two tables name models differently, by labels and hashes, and cannot be joined.';
