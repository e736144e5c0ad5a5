-- Data-quality rules of Zeus. Each counts the rows that break it.
-- A configuration is a data set, a network, a batch size and an optimizer.
-- A rule that compares two tables counts 0 breaches if one of them has no rows.

-- check: zeus.train.harder_takes_longer
-- object: zeus.train
-- kind: range
-- rule: no run reaches a harder target earlier than an easier one, or after missing it
with targets as (
    select
        dataset,
        network,
        batch_size,
        optimizer,
        run,
        target_epoch,
        case when dataset = 'librispeech' then -target_metric else target_metric end as hardness
    from zeus.train
    where target_metric is not null
),

steps as (
    select
        target_epoch,
        lag(hardness) over run_by_hardness as easier_hardness,
        lag(target_epoch) over run_by_hardness as easier_epoch
    from targets
    window
        run_by_hardness as (
            partition by dataset, network, batch_size, optimizer, run
            order by hardness
        )
)

select count(*)
from steps
where
    easier_hardness is not null
    and target_epoch is not null
    and (easier_epoch is null or target_epoch < easier_epoch);

-- check: zeus.train.learning_rate
-- object: zeus.train
-- kind: derived
-- rule: each data set and batch size has one learning_rate
select count(*)
from (
    select 1 as config
    from zeus.train
    group by dataset, batch_size
    having count(distinct learning_rate) > 1
) as ambiguous;

-- check: zeus.alibaba_group.ratio_of_mean
-- object: zeus.alibaba_group
-- kind: derived
-- rule: runtime_ratio is the run time divided by the data set's mean run time, within 1 %
with means as (
    select
        dataset,
        avg(end_time - start_time) as mean_runtime_s
    from zeus.alibaba_group
    group by dataset
)

select count(*)
from zeus.alibaba_group as job
inner join means on job.dataset = means.dataset
where
    abs(job.runtime_ratio - (job.end_time - job.start_time) / nullif(means.mean_runtime_s, 0))
    > 0.01 * (job.end_time - job.start_time) / nullif(means.mean_runtime_s, 0);

-- check: zeus.train.every_target
-- object: zeus.train
-- kind: coverage
-- rule: every run has a row for each target of its data set, even if not reached
with targets as (
    select distinct
        dataset,
        target_metric
    from zeus.train
    where target_metric is not null
),

runs as (
    select distinct
        dataset,
        network,
        batch_size,
        optimizer,
        run
    from zeus.train
    where run is not null
)

select count(*)
from runs
inner join targets on runs.dataset = targets.dataset
where
    not exists (
        select 1 from zeus.train as train
        where
            train.dataset = runs.dataset
            and train.network = runs.network
            and train.batch_size = runs.batch_size
            and train.optimizer = runs.optimizer
            and train.run = runs.run
            and train.target_metric = targets.target_metric
    );

-- check: zeus.train.four_runs
-- object: zeus.train
-- kind: coverage
-- rule: a configuration has at least four runs, as the README says; counts configurations
-- caveat: zeus.fewer_than_four_runs
select count(*)
from (
    select 1 as config
    from zeus.train
    group by dataset, network, batch_size, optimizer
    having count(distinct run) < 4
) as incomplete;

-- check: zeus.train.measured
-- object: zeus.train
-- kind: coverage
-- rule: every trained configuration was measured on every GPU; counts missing pairs
-- caveat: zeus.configurations_differ
with trained as (
    select distinct
        dataset,
        network,
        batch_size,
        optimizer
    from zeus.train
),

gpus as (
    select distinct gpu
    from zeus.power
)

select count(*)
from trained
cross join gpus
where
    not exists (
        select 1 from zeus.power as power
        where
            power.gpu = gpus.gpu
            and power.dataset = trained.dataset
            and power.network = trained.network
            and power.batch_size = trained.batch_size
            and power.optimizer = trained.optimizer
    );

-- check: zeus.power.every_limit
-- object: zeus.power
-- kind: coverage
-- rule: every configuration of a GPU was measured at each of the GPU's power limits; counts missing pairs
-- caveat: zeus.ragged_power_grid
with configs as (
    select distinct
        gpu,
        dataset,
        network,
        batch_size,
        optimizer
    from zeus.power
),

limits as (
    select distinct
        gpu,
        power_limit
    from zeus.power
    where power_limit is not null
)

select count(*)
from configs
inner join limits on configs.gpu = limits.gpu
where
    not exists (
        select 1 from zeus.power as power
        where
            power.gpu = configs.gpu
            and power.dataset = configs.dataset
            and power.network = configs.network
            and power.batch_size = configs.batch_size
            and power.optimizer = configs.optimizer
            and power.power_limit = limits.power_limit
    );
