-- Training configurations that were trained and that were profiled, per GPU (Zeus).
-- grain: one row per (gpu, dataset, network, optimizer, batch_size)
-- source: README of the Zeus traces, Train trace and Power trace
-- caveat: zeus.train_has_no_gpu
-- resolves_caveat: zeus.configurations_differ
-- resolves_caveat: zeus.join_multiplies
-- resolves_caveat: zeus.v100_adam_rows
create or replace view zeus.coverage_v1 as
with trained as (
    select distinct
        dataset,
        network,
        optimizer,
        batch_size
    from zeus.train
),

gpus as (
    select distinct gpu
    from zeus.power
),

-- A training run has no GPU: it counts for each GPU that was profiled.
sides as (
    select
        gpus.gpu,
        trained.dataset,
        trained.network,
        trained.optimizer,
        trained.batch_size,
        true as in_train,
        false as in_power
    from trained
    cross join gpus
    union all
    select
        gpu,
        dataset,
        network,
        optimizer,
        batch_size,
        false as in_train,
        true as in_power
    from zeus.power
)

select
    gpu,
    dataset,
    network,
    optimizer,
    batch_size,
    bool_or(in_train) as in_train,
    bool_or(in_power) as in_power
from sides
group by gpu, dataset, network, optimizer, batch_size;

comment on column zeus.coverage_v1.dataset is 'Data set; measured.';
comment on column zeus.coverage_v1.network is 'Model; measured.';
comment on column zeus.coverage_v1.optimizer is 'Optimizer; measured.';
comment on column zeus.coverage_v1.batch_size is 'Training batch size [samples]; measured.';
comment on column zeus.coverage_v1.in_train is 'Whether zeus.train has runs of the configuration, on any GPU; derived.';
comment on column zeus.coverage_v1.in_power is 'Whether zeus.power has it on this GPU; derived.';
