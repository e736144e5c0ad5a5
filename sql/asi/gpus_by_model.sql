-- GPUs by model (ASI servers)
-- chart: bar x=gpu_model y=gpus
-- column: servers: Servers that ever had GPUs of the model
-- column: gpus: GPUs of these servers: for each server, the last number recorded
-- column: gpus_pct: Share of all GPUs
create or replace macro asi.gpus_by_model() as table
with numbered as (
    select
        shown_model,
        gpus,
        row_number() over (partition by server_id, shown_model order by day desc) as place
    from asi.server_day
),

models as (
    select
        shown_model as gpu_model,
        count(*) as servers,
        stats.fsum(gpus) as gpus
    from numbered
    where place = 1
    group by shown_model
)

select
    gpu_model,
    servers,
    gpus,
    100.0 * gpus / nullif(sum(stats.exact(gpus)) over (), 0) as gpus_pct
from models
order by gpu_model;

comment on macro table asi.gpus_by_model is 'GPUs by model over all servers that ever occur in the trace, counting the last recorded number of each server, as in the publisher''s gpu_spec_distribution.';
