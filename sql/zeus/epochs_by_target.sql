-- Epochs to target by target metric (Zeus runs)
-- resolves_caveat: zeus.librispeech_lower_is_better
-- resolves_caveat: zeus.not_jobs
-- resolves_caveat: zeus.target_decides_optimum
-- resolves_caveat: zeus.train_has_no_gpu
-- column: condition: ≤ if the target is an error rate, ≥ if it is an accuracy
-- column: runs: Training runs
-- column: runs_reached [runs]: Training runs that reached the target
-- column: mean_reached_epochs: Mean epochs to the target of the runs that reached it
-- chart: bar x=condition+target_metric y=mean_reached_epochs yname=mean_epochs_to_target xname=target_(≤_error_rate,_≥_accuracy) note=Mean of the runs that reached the target, over all batch sizes.
create or replace macro zeus.epochs_by_target(of_dataset varchar := 'librispeech') as table
select
    case when dataset = 'librispeech' then '≤' else '≥' end as condition,
    target_metric,
    count(*) as runs,
    count(target_epoch) as runs_reached,
    avg(target_epoch) as mean_reached_epochs
from zeus.train
where dataset = of_dataset
group by dataset, target_metric
order by target_metric;

comment on macro table zeus.epochs_by_target is 'Training runs of all batch sizes, runs that reached the target, and the mean of their epochs.';
