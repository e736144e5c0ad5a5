-- The same configurations, and which of them no other beats in both time and energy.
-- grain: one row per (gpu, dataset, network, optimizer, batch_size, power_limit_w)
-- source: NSDI'23, section 2: the Pareto front of time and energy to accuracy
create or replace view zeus.pareto_v1 as
with by_time as (
    select
        gpu,
        dataset,
        network,
        time_to_accuracy_s,
        min(energy_to_accuracy_j) as least_energy_j
    from zeus.config_v1
    group by gpu, dataset, network, time_to_accuracy_s
),

so_far as (
    select
        gpu,
        dataset,
        network,
        time_to_accuracy_s,
        least_energy_j,
        min(least_energy_j) over (
            partition by gpu, dataset, network
            order by time_to_accuracy_s
            rows between unbounded preceding and 1 preceding
        ) as faster_energy_j
    from by_time
)

-- Nothing as fast needs less energy, and nothing faster needs as little.
select
    config.gpu,
    config.dataset,
    config.network,
    config.optimizer,
    config.batch_size,
    config.power_limit_w,
    config.target_metric,
    config.time_to_accuracy_s,
    config.energy_to_accuracy_j,
    config.max_power_w,
    config.default_batch_size,
    config.is_default_batch,
    config.is_max_power,
    config.is_baseline,
    config.energy_to_accuracy_j = so_far.least_energy_j
    and (so_far.faster_energy_j is null or config.energy_to_accuracy_j < so_far.faster_energy_j) as is_pareto
from zeus.config_v1 as config
inner join so_far
    on
        config.gpu = so_far.gpu
        and config.dataset = so_far.dataset
        and config.network = so_far.network
        and config.time_to_accuracy_s = so_far.time_to_accuracy_s;

comment on column zeus.pareto_v1.gpu is 'GPU that was profiled, from the name of its power file; measured.';
comment on column zeus.pareto_v1.dataset is 'Data set; measured.';
comment on column zeus.pareto_v1.network is 'Model; measured.';
comment on column zeus.pareto_v1.optimizer is 'Optimizer; measured.';
comment on column zeus.pareto_v1.batch_size is 'Training batch size; measured.';
comment on column zeus.pareto_v1.power_limit_w is 'Power limit set on the GPU in watts; average power may exceed it; measured.';
comment on column zeus.pareto_v1.target_metric is 'Validation metric to reach, chosen by the publisher; for librispeech the word error rate; measured.';
comment on column zeus.pareto_v1.time_to_accuracy_s is 'Seconds to the target, by the mean of the runs; derived.';
comment on column zeus.pareto_v1.energy_to_accuracy_j is 'Joules to the target, by the mean of the runs; derived.';
comment on column zeus.pareto_v1.max_power_w is 'Largest power limit in the GPU''s file in watts; derived.';
comment on column zeus.pareto_v1.default_batch_size is 'The publisher''s default batch size, or the largest that was profiled on the GPU, if that is less; derived.';
comment on column zeus.pareto_v1.is_default_batch is 'Whether this is the default batch size; derived.';
comment on column zeus.pareto_v1.is_max_power is 'Whether this is the largest power limit of the GPU; derived.';
comment on column zeus.pareto_v1.is_baseline is 'Whether this is the default batch size at the largest power limit, from which savings are counted; derived.';
comment on column zeus.pareto_v1.is_pareto is 'Whether no other configuration of the GPU, data set and model takes as little time and energy, and less of one; derived.';
