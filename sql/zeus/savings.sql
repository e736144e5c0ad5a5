-- Energy savings by batch size and power limit (Zeus runs)
-- chart: bar x=dataset y=joint_pct yname=energy_saved_pct title=Energy saved by batch size and power limit together (Zeus) note=Against the default batch size at the largest power limit, to the publisher's default target.
create or replace macro zeus.savings(on_gpu varchar := 'v100') as table
select
    gpu,
    dataset,
    network,
    baseline_time_s,
    baseline_energy_j,
    batch_only_pct,
    batch_only_batch_size,
    power_only_pct,
    power_only_limit_w,
    joint_pct,
    joint_batch_size,
    joint_power_limit_w,
    best_time_pct,
    pareto_configs,
    configs
from zeus.saving
where gpu = on_gpu
order by dataset, network;

comment on macro table zeus.savings is 'Energy to the publisher''s default target at the default batch size and the largest power limit, the shares of it that the best other choices save, and the share of time that the fastest configuration saves.';
