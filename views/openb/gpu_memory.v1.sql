-- Memory assumed for each GPU model, where a figure needs it; the trace does not record it (openb).
-- grain: one row per model
-- source: this project; sizes under which a third party's total of 145,280 GB comes out
-- caveat: openb.gpu_models_undisclosed
create or replace view openb.gpu_memory_v1 as
select
    assumed.model,
    cast(assumed.assumed_memory_gb as double) as assumed_memory_gb
from (
    values
    ('A10', 16),
    ('G2', 24),
    ('G3', 40),
    ('P100', 16),
    ('T4', 16),
    ('V100M16', 16),
    ('V100M32', 32)
) as assumed (model, assumed_memory_gb);

comment on column openb.gpu_memory_v1.model is 'GPU model, as named in the node lists; measured.';
comment on column openb.gpu_memory_v1.assumed_memory_gb is 'Memory of one GPU in GB: assumed, as G2 and G3 are undisclosed and an A10 is sold with 24; synthetic.';
