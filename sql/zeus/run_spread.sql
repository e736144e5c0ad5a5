-- Spread of epochs, time and energy to target (Zeus runs)
-- caveat: zeus.train_has_no_gpu
-- resolves_caveat: zeus.join_multiplies
-- resolves_caveat: zeus.librispeech_default_differs
-- resolves_caveat: zeus.max_power_differs
-- resolves_caveat: zeus.not_jobs
-- resolves_caveat: zeus.power_above_limit
-- resolves_caveat: zeus.ragged_power_grid
-- resolves_caveat: zeus.v100_adam_rows
-- column: min_time_to_accuracy_s: Time to the target of the run with the fewest epochs
-- column: median_time_to_accuracy_s: Time to the target by the median of the runs' epochs
-- column: time_to_accuracy_s: Time to the target by the mean of the runs' epochs
-- column: max_time_to_accuracy_s: Time to the target of the run with the most epochs
-- column: min_energy_to_accuracy_j: Energy to the target of the run with the fewest epochs
-- column: median_energy_to_accuracy_j: Energy to the target by the median of the runs' epochs
-- column: energy_to_accuracy_j: Energy to the target by the mean of the runs' epochs
-- column: max_energy_to_accuracy_j: Energy to the target of the run with the most epochs
-- chart: point x=batch_size:log y=cv_reached_epochs color=dataset count=runs yname=coefficient_of_variation_of_the_epochs title=Spread of epochs to target by batch size (Zeus runs) note=Runs that reached the publisher's default target. 0: all runs took equally many epochs.
create or replace macro zeus.run_spread(
    on_gpu varchar := 'v100',
    -- every target in the files instead of only the publisher's default
    every_target boolean := false
) as table
with marked as (
    select
        spread.dataset,
        spread.network,
        spread.optimizer,
        spread.batch_size,
        spread.target_metric,
        spread.runs,
        spread.runs_reached,
        spread.min_reached_epochs,
        spread.median_reached_epochs,
        spread.mean_reached_epochs,
        spread.max_reached_epochs,
        spread.cv_reached_epochs,
        defaults.dataset is not null as is_default_target
    from zeus.epoch_spread as spread
    left join zeus.default_config as defaults
        on
            spread.dataset = defaults.dataset
            and spread.network = defaults.network
            and spread.target_metric = defaults.target_metric
),

chosen as (
    select *
    from marked
    where every_target or is_default_target
),

measured as (
    select
        dataset,
        network,
        optimizer,
        batch_size,
        power_limit,
        time_per_epoch as time_per_epoch_s,
        time_per_epoch * average_power as energy_per_epoch_j,
        max(power_limit) over () as max_power_w
    from zeus.power
    where gpu = on_gpu
),

profiled as (
    select
        dataset,
        network,
        optimizer,
        batch_size,
        time_per_epoch_s,
        energy_per_epoch_j
    from measured
    where power_limit = max_power_w
),

-- A run that misses the target has no time to it, and leaving it out would hide the largest spread.
priced as (
    select
        chosen.dataset,
        chosen.network,
        chosen.optimizer,
        chosen.batch_size,
        chosen.target_metric,
        case when chosen.runs_reached = chosen.runs then profiled.time_per_epoch_s end as time_per_epoch_s,
        case when chosen.runs_reached = chosen.runs then profiled.energy_per_epoch_j end as energy_per_epoch_j
    from chosen
    left join profiled
        on
            chosen.dataset = profiled.dataset
            and chosen.network = profiled.network
            and chosen.optimizer = profiled.optimizer
            and chosen.batch_size = profiled.batch_size
)

select
    chosen.dataset,
    chosen.network,
    chosen.optimizer,
    chosen.batch_size,
    chosen.target_metric,
    chosen.runs,
    chosen.runs_reached,
    chosen.min_reached_epochs,
    chosen.median_reached_epochs,
    chosen.mean_reached_epochs,
    chosen.max_reached_epochs,
    chosen.cv_reached_epochs,
    chosen.min_reached_epochs * priced.time_per_epoch_s as min_time_to_accuracy_s,
    chosen.median_reached_epochs * priced.time_per_epoch_s as median_time_to_accuracy_s,
    chosen.mean_reached_epochs * priced.time_per_epoch_s as time_to_accuracy_s,
    chosen.max_reached_epochs * priced.time_per_epoch_s as max_time_to_accuracy_s,
    chosen.min_reached_epochs * priced.energy_per_epoch_j as min_energy_to_accuracy_j,
    chosen.median_reached_epochs * priced.energy_per_epoch_j as median_energy_to_accuracy_j,
    chosen.mean_reached_epochs * priced.energy_per_epoch_j as energy_to_accuracy_j,
    chosen.max_reached_epochs * priced.energy_per_epoch_j as max_energy_to_accuracy_j
from chosen
inner join priced
    on
        chosen.dataset = priced.dataset
        and chosen.network = priced.network
        and chosen.optimizer = priced.optimizer
        and chosen.batch_size = priced.batch_size
        and chosen.target_metric = priced.target_metric
order by chosen.dataset, chosen.network, chosen.optimizer, chosen.batch_size, chosen.target_metric;

comment on macro table zeus.run_spread is
'Training runs per data set, network, optimizer and batch size to the publisher''s default target, or to '
'every target: all runs, runs that reached the target, and the minimum, median, mean and maximum of their '
'epochs, NULL if none did. cv_reached_epochs is the sample standard deviation (divisor n - 1) of these '
'epochs over their mean, NULL if fewer than two runs reached the target. Time and energy to accuracy are '
'these epochs times the seconds and joules (seconds times average power) of one epoch on the chosen GPU '
'at the largest power limit in its file; columns without a prefix are means. They are NULL unless every '
'run reached the target, and where the configuration was not measured on the GPU. An epoch was measured '
'once, so all spread comes from the epochs, and cv_reached_epochs also applies to time and energy.';
