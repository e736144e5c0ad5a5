-- Data-quality rules of Zeus. Each counts the rows that break it.
-- A configuration is a data set, a network, a batch size and an optimizer.
-- A rule between two tables holds where both are there.

-- check: zeus.power.workload
-- object: zeus.power
-- kind: reference
-- rule: every data set and network was trained too
select count(*)
from zeus.power as power
where
    power.dataset is not null
    and power.network is not null
    and exists (select 1 from zeus.train)
    and not exists (
        select 1 from zeus.train as train
        where train.dataset = power.dataset and train.network = power.network
    );

-- check: zeus.power.trained
-- object: zeus.power
-- kind: reference
-- rule: every configuration that was measured was trained too
-- caveat: zeus.configurations_differ
select count(*)
from zeus.power as power
where
    power.dataset is not null
    and power.network is not null
    and power.batch_size is not null
    and power.optimizer is not null
    and exists (select 1 from zeus.train)
    and not exists (
        select 1 from zeus.train as train
        where
            train.dataset = power.dataset
            and train.network = power.network
            and train.batch_size = power.batch_size
            and train.optimizer = power.optimizer
    );

-- check: zeus.alibaba_group.dataset
-- object: zeus.alibaba_group
-- kind: reference
-- rule: every data set that a job was mapped to was trained
select count(*)
from zeus.alibaba_group as job
where
    job.dataset is not null
    and exists (select 1 from zeus.train)
    and not exists (
        select 1 from zeus.train as train
        where train.dataset = job.dataset
    );

-- check: zeus.train.dataset
-- object: zeus.train
-- kind: range
-- rule: dataset is one of the six workloads
select count(*)
from zeus.train
where
    dataset not in (
        'cifar100', 'imagenet', 'librispeech', 'movielens-1m', 'sentiment140', 'squad'
    );

-- check: zeus.train.optimizer
-- object: zeus.train
-- kind: range
-- rule: optimizer is in lower case, as in power
select count(*)
from zeus.train
where optimizer <> lower(optimizer);

-- check: zeus.power.optimizer
-- object: zeus.power
-- kind: range
-- rule: optimizer is in lower case, as in train
select count(*)
from zeus.power
where optimizer <> lower(optimizer);

-- check: zeus.train.positive
-- object: zeus.train
-- kind: range
-- rule: batch_size, target_metric, run and target_epoch are above 0
select count(*)
from zeus.train
where batch_size <= 0 or target_metric <= 0 or run <= 0 or target_epoch <= 0;

-- check: zeus.train.harder_takes_longer
-- object: zeus.train
-- kind: range
-- rule: a run never reaches a harder target sooner, nor after it missed an easier one
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

-- check: zeus.power.gpu
-- object: zeus.power
-- kind: range
-- rule: gpu is a40, p100, rtx6000 or v100
select count(*)
from zeus.power
where gpu not in ('a40', 'p100', 'rtx6000', 'v100');

-- check: zeus.power.positive
-- object: zeus.power
-- kind: range
-- rule: batch_size, time_per_epoch and average_power are above 0
select count(*)
from zeus.power
where batch_size <= 0 or time_per_epoch <= 0 or average_power <= 0;

-- check: zeus.power.power_limit
-- object: zeus.power
-- kind: range
-- rule: power_limit is a multiple of 25 W from 100 to 300, or 260 on rtx6000
select count(*)
from zeus.power
where
    (power_limit not between 100 and 300 or power_limit % 25 <> 0)
    and not (gpu = 'rtx6000' and power_limit = 260);

-- check: zeus.power.above_limit
-- object: zeus.power
-- kind: range
-- rule: average_power is at most power_limit
-- caveat: zeus.power_above_limit
select count(*)
from zeus.power
where average_power > power_limit;

-- check: zeus.alibaba_group.times
-- object: zeus.alibaba_group
-- kind: range
-- rule: a job starts after 0 on the clock of PAI, and does not end before it starts
select count(*)
from zeus.alibaba_group
where start_time <= 0 or end_time < start_time;

-- check: zeus.alibaba_group.positive
-- object: zeus.alibaba_group
-- kind: range
-- rule: runtime_ratio is not below 0
select count(*)
from zeus.alibaba_group
where runtime_ratio < 0;

-- check: zeus.train.learning_rate
-- object: zeus.train
-- kind: derived
-- rule: a data set and batch size have one learning_rate
select count(*)
from (
    select 1 as config
    from zeus.train
    group by dataset, batch_size
    having count(distinct learning_rate) > 1
) as ambiguous;

-- check: zeus.alibaba_group.runtime_ratio
-- object: zeus.alibaba_group
-- kind: derived
-- rule: runtime_ratio is the runtime over the mean runtime of its data set, within 1 %
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
-- rule: every run has a row for each target of its data set, reached or not
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
) as seldom_run;

-- check: zeus.train.measured
-- object: zeus.train
-- kind: coverage
-- rule: every configuration that was trained was measured on every GPU; counts what is missing
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
-- rule: every configuration of a GPU was measured at each of its power limits; counts what is missing
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
