-- Least-cost energy and time to default target (Zeus runs)
-- column: cost_j: Cost: eta times energy plus (1 - eta) times the largest power limit times time
-- column: baseline_cost_j: Cost of the default batch size at the largest power limit
-- column: cost_cut_pct: Cost saved in percent of the cost of the baseline
-- chart: bar x=dataset+target_metric xname=data_set_and_its_target_metric y=cost_cut_pct yname=saved_cost_pct title=Cost saved by the best configuration (Zeus runs) note=Against the default batch size at the largest power limit, to the publisher's default target. Cost: eta times energy, and the rest time at the largest power.
create or replace macro zeus.optimum(on_gpu varchar := 'v100', eta double := 0.5) as table
with costs as (
    select
        dataset,
        network,
        target_metric,
        batch_size,
        power_limit_w,
        time_to_accuracy_s,
        energy_to_accuracy_j,
        is_baseline,
        eta * energy_to_accuracy_j + (1 - eta) * max_power_w * time_to_accuracy_s as cost_j
    from zeus.config
    where gpu = on_gpu
),

compared as (
    select
        *,
        max(case when is_baseline then cost_j end) over (partition by dataset, network) as baseline_cost_j,
        row_number() over (
            partition by dataset, network
            order by cost_j, batch_size, power_limit_w
        ) as place
    from costs
)

select
    dataset,
    network,
    target_metric,
    batch_size,
    power_limit_w,
    time_to_accuracy_s,
    energy_to_accuracy_j,
    cost_j,
    baseline_cost_j,
    100.0 * (1 - cost_j / nullif(baseline_cost_j, 0)) as cost_cut_pct
from compared
where place = 1
order by dataset, network;

comment on macro table zeus.optimum is 'The configuration of least cost per data set, and the cost of the default batch size at the largest power limit. The cost is eta times energy plus (1 - eta) times the largest power limit times time.';
