-- Energy and time per epoch by power limit (Zeus profiles)
-- resolves_caveat: zeus.configurations_differ
-- resolves_caveat: zeus.default_batch_is_capped
-- resolves_caveat: zeus.join_multiplies
-- resolves_caveat: zeus.librispeech_lower_is_better
-- resolves_caveat: zeus.max_power_differs
-- resolves_caveat: zeus.not_jobs
-- resolves_caveat: zeus.v100_adam_rows
-- column: energy_per_epoch_j [J]: Energy of one epoch as its duration times its average power
-- column: cost_per_epoch_j [J]: Cost of an epoch: eta times energy plus (1 - eta) times the largest power limit times duration
-- column: energy_saved_pct: Energy saved compared with the largest power limit
-- column: time_added_pct: Time added compared with the largest power limit
-- column: is_cheapest: Whether no other power limit costs less
-- chart: line x=power_limit_w y=energy_per_epoch_j color=optimizer facet=batch_size title=Energy per epoch by power limit (Zeus profiles)
create or replace macro zeus.power_by_limit(
    on_gpu varchar := 'v100',
    of_dataset varchar := 'librispeech',
    -- training batch size; NULL for the publisher's default, or the largest measured on the GPU if that is
    -- smaller [zeus.power.batch_size]
    at_batch_size bigint := null,
    eta double := 0.5
) as table
with limits as (
    select max(power_limit) as max_power_w
    from zeus.power
    where gpu = on_gpu
),

measured as (
    select
        dataset,
        network,
        optimizer,
        batch_size,
        power_limit as power_limit_w,
        time_per_epoch as time_per_epoch_s,
        average_power as average_power_w,
        max(batch_size) over (partition by network, optimizer) as largest_batch_size
    from zeus.power
    where gpu = on_gpu and dataset = of_dataset
),

profiled as (
    select
        measured.network,
        measured.optimizer,
        measured.batch_size,
        measured.power_limit_w,
        measured.time_per_epoch_s,
        measured.average_power_w,
        measured.time_per_epoch_s * measured.average_power_w as energy_per_epoch_j,
        limits.max_power_w,
        least(defaults.default_batch_size, measured.largest_batch_size) as default_batch_size
    from measured
    cross join limits
    left join zeus.default_config as defaults
        on measured.dataset = defaults.dataset and measured.network = defaults.network
),

chosen as (
    select
        network,
        optimizer,
        batch_size,
        power_limit_w,
        time_per_epoch_s,
        average_power_w,
        energy_per_epoch_j,
        eta * energy_per_epoch_j + (1 - eta) * max_power_w * time_per_epoch_s as cost_per_epoch_j,
        max_power_w
    from profiled
    where batch_size = coalesce(at_batch_size, default_batch_size)
),

compared as (
    select
        *,
        max(case when power_limit_w = max_power_w then time_per_epoch_s end)
            over (partition by network, optimizer) as unlimited_time_s,
        max(case when power_limit_w = max_power_w then energy_per_epoch_j end)
            over (partition by network, optimizer) as unlimited_energy_j
    from chosen
)

select
    network,
    optimizer,
    batch_size,
    power_limit_w,
    time_per_epoch_s,
    average_power_w,
    energy_per_epoch_j,
    cost_per_epoch_j,
    100.0 * (1 - energy_per_epoch_j / nullif(unlimited_energy_j, 0)) as energy_saved_pct,
    100.0 * (time_per_epoch_s / nullif(unlimited_time_s, 0) - 1) as time_added_pct,
    row_number() over (
        partition by network, optimizer
        order by cost_per_epoch_j, power_limit_w
    ) = 1 as is_cheapest
from compared
order by network, optimizer, power_limit_w;

comment on macro table zeus.power_by_limit is
'One epoch of a data set at one batch size on one GPU, per network, optimizer and measured power limit: '
'seconds, average power in watts, energy (their product) in joules, and cost: eta times energy plus (1 - '
'eta) times the largest power limit in the GPU''s file times the seconds. energy_saved_pct and '
'time_added_pct compare with the largest limit; both are negative if the comparison goes the other way '
'and NULL if the configuration was not measured there. is_cheapest marks the limit of least cost, the '
'lowest of equal ones. The default batch size is the publisher''s, or the largest of the network and '
'optimizer measured on the GPU if that is smaller. V100 has cifar100 with two optimizers.';
