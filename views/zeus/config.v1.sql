-- Time and energy to the publisher's default target, for configurations whose runs all reached it (Zeus).
-- grain: one row per (gpu, dataset, network, optimizer, batch_size, power_limit_w)
-- source: NSDI'23, section 2; run_single.py and run_alibaba.py of the Zeus traces for the defaults and their cap
-- caveat: zeus.configurations_differ
-- caveat: zeus.fewer_than_four_runs
-- caveat: zeus.librispeech_default_differs: default_batch_size is_default_batch is_baseline
-- caveat: zeus.ragged_power_grid: power_limit_w max_power_w is_max_power is_baseline
-- caveat: zeus.target_decides_optimum
-- resolves_caveat: zeus.default_batch_is_capped
-- resolves_caveat: zeus.join_multiplies
-- resolves_caveat: zeus.librispeech_lower_is_better
-- resolves_caveat: zeus.max_power_differs
-- resolves_caveat: zeus.v100_adam_rows
create or replace view zeus.config_v1 as
with limits as (
    select
        gpu,
        max(power_limit) as max_power_w
    from zeus.power
    group by gpu
),

largest as (
    select
        gpu,
        dataset,
        network,
        optimizer,
        max(batch_size) as largest_batch_size
    from zeus.power
    group by gpu, dataset, network, optimizer
),

reached as (
    select
        costs.gpu,
        costs.dataset,
        costs.network,
        costs.optimizer,
        costs.batch_size,
        costs.power_limit_w,
        costs.target_metric,
        costs.time_to_accuracy_s,
        costs.energy_to_accuracy_j,
        limits.max_power_w,
        least(defaults.default_batch_size, largest.largest_batch_size) as default_batch_size
    from zeus.energy_to_accuracy_v1 as costs
    inner join zeus.default_config_v1 as defaults
        on
            costs.dataset = defaults.dataset
            and costs.network = defaults.network
            and costs.target_metric = defaults.target_metric
    inner join limits on costs.gpu = limits.gpu
    inner join largest
        on
            costs.gpu = largest.gpu
            and costs.dataset = largest.dataset
            and costs.network = largest.network
            and costs.optimizer = largest.optimizer
    where costs.runs_reached = costs.runs
)

select
    gpu,
    dataset,
    network,
    optimizer,
    batch_size,
    power_limit_w,
    target_metric,
    time_to_accuracy_s,
    energy_to_accuracy_j,
    max_power_w,
    default_batch_size,
    batch_size = default_batch_size as is_default_batch,
    power_limit_w = max_power_w as is_max_power,
    batch_size = default_batch_size and power_limit_w = max_power_w as is_baseline
from reached;

comment on column zeus.config_v1.time_to_accuracy_s is 'Seconds to the target, by the mean of the runs; derived.';
comment on column zeus.config_v1.energy_to_accuracy_j is 'Joules to the target, by the mean of the runs; derived.';
comment on column zeus.config_v1.max_power_w is 'Largest power limit in the GPU''s file in watts; derived.';
comment on column zeus.config_v1.default_batch_size is 'The publisher''s default batch size, or the largest that was profiled on the GPU, if that is less [no unit]; derived.';
comment on column zeus.config_v1.is_default_batch is 'Whether this is the default batch size; derived.';
comment on column zeus.config_v1.is_max_power is 'Whether this is the largest power limit of the GPU; derived.';
comment on column zeus.config_v1.is_baseline is 'Whether this is the default batch size at the largest power limit, which savings are counted from; derived.';
