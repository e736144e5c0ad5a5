-- Epochs to target by batch size (Zeus runs)
-- caveat: zeus.target_scales_differ
-- resolves_caveat: zeus.default_batch_is_capped
-- resolves_caveat: zeus.librispeech_default_differs
-- column: runs_unreached [runs]: Training runs that missed the target
-- chart: line x=batch_size:log y=mean_reached_epochs yname=mean_epochs_to_target color=optimizer facet=target_metric count=runs note=Mean of the runs that reached the target.
create or replace macro zeus.epochs_by_batch_size(
    of_dataset varchar := 'librispeech',
    -- validation metric to reach, one that the data set has; NULL for the publisher's default
    -- [zeus.train.target_metric]
    to_target double := null
) as table
with targets as (
    select
        dataset,
        network,
        coalesce(to_target, target_metric) as target_metric
    from zeus.default_config
    where dataset = of_dataset
)

select
    spread.network,
    spread.optimizer,
    spread.batch_size,
    spread.target_metric,
    spread.runs,
    spread.runs_reached,
    spread.runs - spread.runs_reached as runs_unreached,
    spread.min_reached_epochs,
    spread.median_reached_epochs,
    spread.mean_reached_epochs,
    spread.max_reached_epochs,
    spread.cv_reached_epochs
from zeus.epoch_spread as spread
inner join targets
    on
        spread.dataset = targets.dataset
        and spread.network = targets.network
        and spread.target_metric = targets.target_metric
order by spread.network, spread.optimizer, spread.batch_size;

comment on macro table zeus.epochs_by_batch_size is
'Training runs of a data set to one target per network, optimizer and batch size (the learning rate '
'depends on the batch size): all runs, runs that reached the target, runs that did not, and the minimum, '
'median, mean and maximum of the epochs of runs that reached it, NULL if none did. cv_reached_epochs is '
'the sample standard deviation (divisor n - 1) of these epochs over their mean, NULL if fewer than two '
'runs reached the target. Where runs_unreached is above 0, the epochs cover the successful runs only and '
'are too low.';
