-- Cache hits by number of cached base models (GenAI requests)
-- resolves_caveat: genai.request_clock_is_shifted
-- resolves_caveat: genai.requests_in_both_files
-- chart: line x=cached_models:log y=hits_pct yname=cache_hits_pct note=One cache for all requests, empty at first, which drops the least recently used base model.
-- column: cached_models [models]: Base models that the cache can contain
-- column: hits_pct: Share of the requests whose base model is in the cache
-- column: requests: Requests that name a base model
-- column: distinct_models [models]: Base models that these requests name
create or replace macro genai.model_reuse() as table
with accesses as (
    select
        checkpoint_model_version_id as model_id,
        row_number() over (order by gmt_create, checkpoint_model_version_id) as position
    from genai.lora_request_trace
    where gmt_create is not null and checkpoint_model_version_id is not null
),

reuses as (
    select
        position,
        model_id,
        lag(position) over (partition by model_id order by position) as previous_position
    from accesses
),

models as (
    select distinct model_id
    from accesses
),

-- The last access to each model before each access: a hundred models, so every pair can be compared.
seen as (
    select
        reuses.position,
        reuses.previous_position,
        max(case when reuses.model_id = models.model_id then reuses.position end) over (
            partition by models.model_id
            order by reuses.position rows between unbounded preceding and 1 preceding
        ) as last_position
    from reuses
    cross join models
),

-- A cache that drops the least recently used model contains the model if fewer others were accessed since.
distances as (
    select
        position,
        count(*) filter (where last_position > previous_position) as other_models
    from seen
    where previous_position is not null
    group by position
),

totals as (
    select
        count(*) as requests,
        count(distinct model_id) as distinct_models
    from accesses
),

sizes as (
    select unnest([1, 2, 3, 5, 10, 20, 50, 100, 200, 500]) as cached_models
),

hits as (
    select
        sizes.cached_models,
        count(distances.position) as hits
    from sizes
    left join distances on sizes.cached_models > distances.other_models
    group by sizes.cached_models
)

select
    cast(hits.cached_models as bigint) as cached_models,
    100.0 * hits.hits / totals.requests as hits_pct,
    totals.requests,
    totals.distinct_models
from hits
inner join totals on totals.requests > 0
order by hits.cached_models;

comment on macro table genai.model_reuse is
'Percentage of the requests that find their base model in a cache of cached_models models, which drops the least recently '
'used one, over all requests of lora_request_trace that name a base model, in any state, in the order of their creation. '
'A request hits if fewer than cached_models other models were requested since the last request for its model; the first '
'request for a model misses, because the cache is empty at first. Requests of the same second are taken in the order of '
'their model, as the trace does not give their order; the order of the file changes hits_pct by less than 0.05 points. '
'The service has many containers, each with models of its own, and the trace does not say which served a request: this '
'is one cache before all of them. Reuse of LoRA adapters is unknown, as the table that names them has no times.';
