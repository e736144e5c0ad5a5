-- GPU models that the publisher's figures show without their variant (ASI).
-- grain: one row per shown model
-- source: scripts of cluster-trace-gpu-v2026
create or replace view asi.shown_model_v1 as
select model.shown_model
from (values ('A10'), ('L20'), ('H20'), ('A100'), ('H800'), ('XPU-A')) as model (shown_model);

comment on view asi.shown_model_v1 is 'GPU models that the publisher''s figures show without their variant: the text before the first hyphen, so that H20-141GB is H20. Other models keep their whole name.';
comment on column asi.shown_model_v1.shown_model is 'GPU model without its variant; synthetic.';
