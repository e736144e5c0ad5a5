-- Time and energy of each training configuration to a target accuracy (Zeus).
-- grain: one row per (gpu, dataset, network, optimizer, batch_size, power_limit_w, target_metric)
-- source: README of the Zeus traces and NSDI'23, section 2: epochs × time per epoch, times average power
-- answers: run, power, energy, workload, time to accuracy
-- caveat: zeus.configurations_differ
-- caveat: zeus.default_batch_is_capped: batch_size
-- caveat: zeus.fewer_than_four_runs
-- caveat: zeus.librispeech_lower_is_better: target_metric
-- caveat: zeus.max_power_differs: power_limit_w
-- caveat: zeus.power_above_limit: power_limit_w average_power_w
-- caveat: zeus.power_measured_once: time_per_epoch_s average_power_w time_to_accuracy_s energy_to_accuracy_j
-- caveat: zeus.ragged_power_grid: power_limit_w
-- caveat: zeus.target_decides_optimum: target_metric time_to_accuracy_s energy_to_accuracy_j
-- caveat: zeus.target_scales_differ: target_metric
-- caveat: zeus.train_has_no_gpu: mean_epochs time_to_accuracy_s energy_to_accuracy_j
-- resolves_caveat: zeus.join_multiplies
-- resolves_caveat: zeus.target_never_reached
-- resolves_caveat: zeus.v100_adam_rows
create or replace view zeus.energy_to_accuracy_v1 as
with epochs as (
    select
        dataset,
        network,
        optimizer,
        batch_size,
        target_metric,
        count(*) as runs,
        count(target_epoch) as runs_reached,
        avg(target_epoch) as mean_reached_epochs
    from zeus.train
    group by dataset, network, optimizer, batch_size, target_metric
),

-- A mean over the successful runs only would favour a configuration that rarely succeeds.
reached as (
    select
        dataset,
        network,
        optimizer,
        batch_size,
        target_metric,
        runs,
        runs_reached,
        case when runs_reached = runs then mean_reached_epochs end as mean_epochs
    from epochs
)

select
    power.gpu,
    power.dataset,
    power.network,
    power.optimizer,
    power.batch_size,
    power.power_limit as power_limit_w,
    reached.target_metric,
    power.dataset = 'librispeech' as is_lower_better,
    reached.runs,
    reached.runs_reached,
    reached.mean_epochs,
    power.time_per_epoch as time_per_epoch_s,
    power.average_power as average_power_w,
    reached.mean_epochs * power.time_per_epoch as time_to_accuracy_s,
    reached.mean_epochs * power.time_per_epoch * power.average_power as energy_to_accuracy_j
from zeus.power as power
inner join reached
    on
        power.dataset = reached.dataset
        and power.network = reached.network
        and power.optimizer = reached.optimizer
        and power.batch_size = reached.batch_size;

comment on column zeus.energy_to_accuracy_v1.is_lower_better is 'Whether a lower metric is better, such as a word error rate; derived.';
comment on column zeus.energy_to_accuracy_v1.runs is 'Training runs with this configuration and target; derived.';
comment on column zeus.energy_to_accuracy_v1.runs_reached is 'Runs that reached the target [runs]; derived.';
comment on column zeus.energy_to_accuracy_v1.mean_epochs is 'Mean epochs to the target; NULL unless every run reached it; derived.';
comment on column zeus.energy_to_accuracy_v1.time_to_accuracy_s is 'Seconds to the target; NULL unless every run reached it; derived.';
comment on column zeus.energy_to_accuracy_v1.energy_to_accuracy_j is 'Joules to the target; NULL unless every run reached it; derived.';
