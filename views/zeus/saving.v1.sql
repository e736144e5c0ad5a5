-- Energy that the choice of batch size and power limit saves, compared with the publisher's default (Zeus).
-- grain: one row per (gpu, dataset, network)
-- source: NSDI'23, section 2: savings of batch size alone, power limit alone, and both
-- caveat: zeus.librispeech_default_differs: batch_only_batch_size power_only_pct power_only_limit_w joint_batch_size joint_power_limit_w
-- caveat: zeus.power_measured_once: baseline_time_s baseline_energy_j batch_only_pct batch_only_batch_size power_only_pct power_only_limit_w joint_pct joint_batch_size joint_power_limit_w best_time_pct pareto_configs
create or replace view zeus.saving_v1 as
with baselines as (
    select
        gpu,
        dataset,
        network,
        time_to_accuracy_s as baseline_time_s,
        energy_to_accuracy_j as baseline_energy_j
    from zeus.pareto_v1
    where is_baseline
),

-- For equal energies, the smaller batch size is chosen, then the smaller limit.
ranked as (
    select
        gpu,
        dataset,
        network,
        batch_size,
        power_limit_w,
        time_to_accuracy_s,
        energy_to_accuracy_j,
        is_default_batch,
        is_max_power,
        is_pareto,
        row_number() over (
            partition by gpu, dataset, network
            order by energy_to_accuracy_j, batch_size, power_limit_w
        ) as place,
        row_number() over (
            partition by gpu, dataset, network, is_max_power
            order by energy_to_accuracy_j, batch_size, power_limit_w
        ) as place_at_power,
        row_number() over (
            partition by gpu, dataset, network, is_default_batch
            order by energy_to_accuracy_j, batch_size, power_limit_w
        ) as place_at_batch
    from zeus.pareto_v1
),

best as (
    select
        gpu,
        dataset,
        network,
        min(energy_to_accuracy_j) filter (where is_max_power) as batch_only_energy_j,
        min(batch_size) filter (where is_max_power and place_at_power = 1) as batch_only_batch_size,
        min(energy_to_accuracy_j) filter (where is_default_batch) as power_only_energy_j,
        min(power_limit_w) filter (where is_default_batch and place_at_batch = 1) as power_only_limit_w,
        min(energy_to_accuracy_j) as joint_energy_j,
        min(batch_size) filter (where place = 1) as joint_batch_size,
        min(power_limit_w) filter (where place = 1) as joint_power_limit_w,
        min(time_to_accuracy_s) as least_time_s,
        count(*) filter (where is_pareto) as pareto_configs,
        count(*) as configs
    from ranked
    group by gpu, dataset, network
)

-- Without a baseline there is no saving.
select
    best.gpu,
    best.dataset,
    best.network,
    baselines.baseline_time_s,
    baselines.baseline_energy_j,
    100.0 * (1 - best.batch_only_energy_j / nullif(baselines.baseline_energy_j, 0)) as batch_only_pct,
    case when baselines.gpu is not null then best.batch_only_batch_size end as batch_only_batch_size,
    100.0 * (1 - best.power_only_energy_j / nullif(baselines.baseline_energy_j, 0)) as power_only_pct,
    case when baselines.gpu is not null then best.power_only_limit_w end as power_only_limit_w,
    100.0 * (1 - best.joint_energy_j / nullif(baselines.baseline_energy_j, 0)) as joint_pct,
    case when baselines.gpu is not null then best.joint_batch_size end as joint_batch_size,
    case when baselines.gpu is not null then best.joint_power_limit_w end as joint_power_limit_w,
    100.0 * (1 - best.least_time_s / nullif(baselines.baseline_time_s, 0)) as best_time_pct,
    best.pareto_configs,
    best.configs
from best
left join baselines
    on
        best.gpu = baselines.gpu
        and best.dataset = baselines.dataset
        and best.network = baselines.network;

comment on column zeus.saving_v1.baseline_time_s is 'Seconds to the target at the default batch size and the largest power limit; NULL if not every run reached it there, as are all savings; derived.';
comment on column zeus.saving_v1.baseline_energy_j is 'Joules to the target at the default batch size and the largest power limit; derived.';
comment on column zeus.saving_v1.batch_only_pct is 'Share of baseline_energy_j that the best batch size saves at the largest power limit; derived.';
comment on column zeus.saving_v1.batch_only_batch_size is 'Batch size that saves most [no unit]; derived.';
comment on column zeus.saving_v1.power_only_pct is 'Share of baseline_energy_j that the best power limit saves at the default batch size; derived.';
comment on column zeus.saving_v1.power_only_limit_w is 'Power limit that saves most, in watts; derived.';
comment on column zeus.saving_v1.joint_pct is 'Share of baseline_energy_j that the best batch size and power limit together save; derived.';
comment on column zeus.saving_v1.joint_batch_size is 'Batch size that saves most [no unit]; derived.';
comment on column zeus.saving_v1.joint_power_limit_w is 'Power limit that saves most, in watts; derived.';
comment on column zeus.saving_v1.best_time_pct is 'Share of baseline_time_s that the fastest configuration saves, at any power limit; derived.';
comment on column zeus.saving_v1.pareto_configs is 'Configurations that no other beats in both time and energy [configurations]; derived.';
comment on column zeus.saving_v1.configs is 'Configurations whose every run reached the target [configurations]; derived.';
