-- Configurations, and those that no other beats in both time and energy (Zeus).
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
        *,
        min(least_energy_j) over (
            partition by gpu, dataset, network
            order by time_to_accuracy_s
            rows between unbounded preceding and 1 preceding
        ) as faster_energy_j
    from by_time
)

-- No configuration as fast as this one needs less energy, and no faster one needs as little.
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

comment on column zeus.pareto_v1.is_pareto is 'Whether no other configuration of the GPU, data set and model takes as little time and energy, and less of one; derived.';
