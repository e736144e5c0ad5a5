-- Least-cost energy and time to hardest target (Zeus runs)
-- caveat: zeus.target_decides_optimum
-- resolves_caveat: zeus.librispeech_lower_is_better
-- column: condition: ≤ if the target is an error rate, ≥ if it is an accuracy
-- column: cost_j: Cost: eta times energy plus (1 - eta) times the largest power limit times time
-- chart: point x=dataset+condition+target_metric xname=data_set_and_its_target_(≤_error_rate,_≥_accuracy) y=energy_to_accuracy_j:log title=Energy of the cheapest run to the hardest target (Zeus runs) note=Hardest target that any configuration reached in every run. Cheapest by cost: eta times energy, and the rest time at the largest power.
create or replace macro zeus.cheapest(on_gpu varchar := 'v100', eta double := 0.5) as table
with reached as (
    select
        dataset,
        network,
        batch_size,
        power_limit_w,
        target_metric,
        case when is_lower_better then '≤' else '≥' end as condition,
        case when is_lower_better then -target_metric else target_metric end as hardness,
        time_to_accuracy_s,
        energy_to_accuracy_j,
        max(power_limit_w) over (partition by gpu) as max_power_w
    from zeus.energy_to_accuracy
    where gpu = on_gpu and time_to_accuracy_s is not null
),

hardest as (
    select
        *,
        eta * energy_to_accuracy_j + (1 - eta) * max_power_w * time_to_accuracy_s as cost_j
    from reached
    qualify hardness = max(hardness) over (partition by dataset, network)
)

select
    dataset,
    network,
    condition,
    target_metric,
    batch_size,
    power_limit_w,
    time_to_accuracy_s,
    energy_to_accuracy_j,
    cost_j
from hardest
qualify row_number() over (partition by dataset, network order by cost_j, batch_size, power_limit_w) = 1
order by dataset, network;

comment on macro table zeus.cheapest is 'The configuration of least cost per data set among the configurations in which every run reached the hardest target that any of them reached. The cost is eta times energy plus (1 - eta) times the largest power limit times time.';
