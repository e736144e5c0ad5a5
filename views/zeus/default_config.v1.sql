-- Target and batch size that savings are counted from: the defaults of the publisher's replay script (Zeus).
-- grain: one row per (dataset, network)
-- source: run_single.py of the Zeus traces, which replays one workload
-- caveat: zeus.librispeech_default_differs
-- caveat: zeus.default_batch_is_capped
-- caveat: zeus.librispeech_lower_is_better
create or replace view zeus.default_config_v1 as
select
    known.dataset,
    known.network,
    cast(known.target_metric as double) as target_metric,
    cast(known.default_batch_size as bigint) as default_batch_size
from (
    values
    ('cifar100', 'shufflenetv2', 0.60, 1024),
    ('imagenet', 'resnet50', 0.65, 256),
    ('librispeech', 'deepspeech2', 40.0, 192),
    ('movielens-1m', 'ncf', 0.41, 1024),
    ('sentiment140', 'bert_base_uncased', 0.84, 128),
    ('squad', 'bert_base_uncased', 84.0, 32)
) as known (dataset, network, target_metric, default_batch_size);

comment on column zeus.default_config_v1.dataset is 'Data set; synthetic.';
comment on column zeus.default_config_v1.network is 'Model; synthetic.';
comment on column zeus.default_config_v1.target_metric is 'Validation metric to reach, chosen by the publisher; for librispeech the word error rate [no unit]; synthetic.';
comment on column zeus.default_config_v1.default_batch_size is 'Batch size that savings are counted from, chosen by the publisher; not every GPU can hold it [no unit]; synthetic.';
