-- Spread of epochs among the training runs of a configuration, which differ only in the random seed (Zeus).
-- grain: one row per (dataset, network, optimizer, batch_size, target_metric)
-- source: README of the Zeus traces, Train trace: run and target_epoch
-- caveat: zeus.fewer_than_four_runs: runs runs_reached cv_reached_epochs
-- caveat: zeus.librispeech_lower_is_better: target_metric
-- caveat: zeus.target_never_reached: runs_reached min_reached_epochs median_reached_epochs mean_reached_epochs max_reached_epochs cv_reached_epochs
-- caveat: zeus.target_scales_differ: target_metric
create or replace view zeus.epoch_spread_v1 as
with means as (
    select
        dataset,
        network,
        optimizer,
        batch_size,
        target_metric,
        count(*) as runs,
        count(target_epoch) as runs_reached,
        min(target_epoch) as min_reached_epochs,
        median(target_epoch) as median_reached_epochs,
        avg(target_epoch) as mean_reached_epochs,
        max(target_epoch) as max_reached_epochs
    from zeus.train
    group by dataset, network, optimizer, batch_size, target_metric
),

-- Divides each deviation by the mean before squaring it, so that the spread has no unit.
deviations as (
    select
        train.dataset,
        train.network,
        train.optimizer,
        train.batch_size,
        train.target_metric,
        stats.fsum(power(train.target_epoch / nullif(means.mean_reached_epochs, 0) - 1, 2)) as squares
    from zeus.train as train
    inner join means
        on
            train.dataset = means.dataset
            and train.network = means.network
            and train.optimizer = means.optimizer
            and train.batch_size = means.batch_size
            and train.target_metric = means.target_metric
    group by train.dataset, train.network, train.optimizer, train.batch_size, train.target_metric
)

-- The runs are a sample of all seeds, so the variance is divided by n - 1; a single run has no spread.
select
    means.dataset,
    means.network,
    means.optimizer,
    means.batch_size,
    means.target_metric,
    means.dataset = 'librispeech' as is_lower_better,
    means.runs,
    means.runs_reached,
    means.min_reached_epochs,
    means.median_reached_epochs,
    means.mean_reached_epochs,
    means.max_reached_epochs,
    sqrt(deviations.squares / nullif(means.runs_reached - 1, 0)) as cv_reached_epochs
from means
left join deviations
    on
        means.dataset = deviations.dataset
        and means.network = deviations.network
        and means.optimizer = deviations.optimizer
        and means.batch_size = deviations.batch_size
        and means.target_metric = deviations.target_metric;

comment on column zeus.epoch_spread_v1.is_lower_better is 'Whether a lower metric is better, such as a word error rate; derived.';
comment on column zeus.epoch_spread_v1.runs is 'Training runs with this configuration and target; derived.';
comment on column zeus.epoch_spread_v1.runs_reached is 'Runs that reached the target [runs]; derived.';
comment on column zeus.epoch_spread_v1.min_reached_epochs is 'Fewest epochs to the target, of the runs that reached it; NULL if none did, as are the median, mean and maximum; derived.';
comment on column zeus.epoch_spread_v1.median_reached_epochs is 'Median of the epochs to the target, of the runs that reached it; derived.';
comment on column zeus.epoch_spread_v1.mean_reached_epochs is 'Mean of the epochs to the target, of the runs that reached it; derived.';
comment on column zeus.epoch_spread_v1.max_reached_epochs is 'Most epochs to the target, of the runs that reached it; the other runs took longer; derived.';
comment on column zeus.epoch_spread_v1.cv_reached_epochs is 'Coefficient of variation of these epochs: their sample standard deviation, with one less than the runs as divisor, over their mean; NULL if fewer than two runs reached the target [ratio]; derived.';
