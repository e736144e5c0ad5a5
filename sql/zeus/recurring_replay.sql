-- Energy savings on recurring jobs (PAI jobs replayed on Zeus)
-- caveat: zeus.power_measured_once
-- caveat: zeus.train_has_no_gpu
-- column: dataset: Data set, or all
-- column: policy_batch_size [no unit]: Training batch size that the policy chooses
-- column: policy_power_limit_w: Power limit that the policy chooses
-- column: oracle_batch_size [no unit]: Training batch size of the configuration of least cost
-- column: oracle_power_limit_w: Power limit of the configuration of least cost
-- column: baseline_energy_j: Energy of one training at the default batch size and the largest power limit
-- column: policy_energy_j: Energy of one training in the configuration that the policy chooses
-- column: oracle_energy_j: Energy of one training in the configuration of least cost
-- column: recurring_groups [groups]: Groups of recurring jobs in the schedule
-- column: replayed_jobs: Jobs of the schedule whose runtime ratio and default configuration are known
-- column: default_energy_kwh: Energy of the replayed jobs in the default configuration
-- column: policy_energy_kwh: Energy of the replayed jobs in the configuration that the policy chooses
-- column: oracle_energy_kwh: Energy of the replayed jobs in the configuration of least cost
-- column: default_time_h: Time of the replayed jobs in the default configuration
-- column: policy_time_h: Time of the replayed jobs in the configuration that the policy chooses
-- column: oracle_time_h: Time of the replayed jobs in the configuration of least cost
-- column: policy_saved_pct: Share of the energy of the default configuration that the policy saves
-- column: oracle_saved_pct: Share of the energy of the default configuration that the configuration of least cost saves
-- chart: bar x=dataset y=policy_saved_pct yname=saved_energy_pct note=Against the default batch size at the largest power limit, to the publisher's default target.
create or replace macro zeus.recurring_replay(
    on_gpu varchar := 'v100',
    -- what to choose instead of the default: nothing, the batch size at the largest power limit, the power
    -- limit at the default batch size, or both (oracle) [default batch_only power_only oracle]
    policy varchar := 'power_only',
    eta double := 0.5,
    with_total boolean := false
) as table
with configs as (
    select
        dataset,
        network,
        batch_size,
        power_limit_w,
        time_to_accuracy_s,
        energy_to_accuracy_j,
        is_baseline,
        case policy
            when 'default' then is_baseline
            when 'batch_only' then is_max_power
            when 'power_only' then is_default_batch
            else true
        end as is_allowed,
        eta * energy_to_accuracy_j + (1 - eta) * max_power_w * time_to_accuracy_s as cost_j
    from zeus.config
    where gpu = on_gpu
),

ranked as (
    select
        *,
        row_number() over (partition by dataset, network order by cost_j, batch_size, power_limit_w) as place,
        row_number() over (
            partition by dataset, network, is_allowed
            order by cost_j, batch_size, power_limit_w
        ) as place_of_allowed
    from configs
),

baselines as (
    select
        dataset,
        network,
        time_to_accuracy_s,
        energy_to_accuracy_j
    from configs
    where is_baseline
),

policies as (
    select
        dataset,
        network,
        batch_size,
        power_limit_w,
        time_to_accuracy_s,
        energy_to_accuracy_j
    from ranked
    where is_allowed and place_of_allowed = 1
),

oracles as (
    select
        dataset,
        network,
        batch_size,
        power_limit_w,
        time_to_accuracy_s,
        energy_to_accuracy_j
    from ranked
    where place = 1
),

-- Without a default configuration there is no comparison; every policy may choose the default.
workloads as (
    select
        defaults.dataset,
        defaults.network,
        policies.batch_size as policy_batch_size,
        policies.power_limit_w as policy_power_limit_w,
        oracles.batch_size as oracle_batch_size,
        oracles.power_limit_w as oracle_power_limit_w,
        baselines.time_to_accuracy_s as baseline_time_s,
        policies.time_to_accuracy_s as policy_time_s,
        oracles.time_to_accuracy_s as oracle_time_s,
        baselines.energy_to_accuracy_j as baseline_energy_j,
        policies.energy_to_accuracy_j as policy_energy_j,
        oracles.energy_to_accuracy_j as oracle_energy_j
    from zeus.default_config as defaults
    left join baselines
        on defaults.dataset = baselines.dataset and defaults.network = baselines.network
    left join policies
        on baselines.dataset = policies.dataset and baselines.network = policies.network
    left join oracles
        on baselines.dataset = oracles.dataset and baselines.network = oracles.network
),

schedule as (
    select
        dataset,
        count(distinct "group") as recurring_groups,
        count(*) as jobs,
        count(runtime_ratio) as timed_jobs,
        stats.fsum(runtime_ratio) as runtime_ratios
    from zeus.alibaba_group
    group by dataset
),

-- As in the publisher's simulator, a job that took twice the mean in PAI takes twice the time and energy.
replayed as (
    select
        workloads.dataset,
        workloads.network,
        workloads.policy_batch_size,
        workloads.policy_power_limit_w,
        workloads.oracle_batch_size,
        workloads.oracle_power_limit_w,
        workloads.baseline_energy_j,
        workloads.policy_energy_j,
        workloads.oracle_energy_j,
        coalesce(schedule.recurring_groups, 0) as recurring_groups,
        coalesce(schedule.jobs, 0) as jobs,
        case when workloads.baseline_energy_j is not null then coalesce(schedule.timed_jobs, 0) else 0 end
            as replayed_jobs,
        workloads.baseline_energy_j * schedule.runtime_ratios / 3600000.0 as default_energy_kwh,
        workloads.policy_energy_j * schedule.runtime_ratios / 3600000.0 as policy_energy_kwh,
        workloads.oracle_energy_j * schedule.runtime_ratios / 3600000.0 as oracle_energy_kwh,
        workloads.baseline_time_s * schedule.runtime_ratios / 3600.0 as default_time_h,
        workloads.policy_time_s * schedule.runtime_ratios / 3600.0 as policy_time_h,
        workloads.oracle_time_s * schedule.runtime_ratios / 3600.0 as oracle_time_h
    from workloads
    left join schedule on workloads.dataset = schedule.dataset
),

-- Figures of one training do not add up, so the total row leaves them out.
summed as (
    select
        dataset,
        network,
        grouping(dataset) = 1 as is_all,
        max(policy_batch_size) as policy_batch_size,
        max(policy_power_limit_w) as policy_power_limit_w,
        max(oracle_batch_size) as oracle_batch_size,
        max(oracle_power_limit_w) as oracle_power_limit_w,
        max(baseline_energy_j) as baseline_energy_j,
        max(policy_energy_j) as policy_energy_j,
        max(oracle_energy_j) as oracle_energy_j,
        sum(recurring_groups) as recurring_groups,
        sum(jobs) as jobs,
        sum(replayed_jobs) as replayed_jobs,
        stats.fsum(default_energy_kwh) as default_energy_kwh,
        stats.fsum(policy_energy_kwh) as policy_energy_kwh,
        stats.fsum(oracle_energy_kwh) as oracle_energy_kwh,
        stats.fsum(default_time_h) as default_time_h,
        stats.fsum(policy_time_h) as policy_time_h,
        stats.fsum(oracle_time_h) as oracle_time_h
    from replayed
    group by grouping sets ((dataset, network), ())
)

select
    case when is_all then 'all' else dataset end as dataset,
    network,
    case when not is_all then policy_batch_size end as policy_batch_size,
    case when not is_all then policy_power_limit_w end as policy_power_limit_w,
    case when not is_all then oracle_batch_size end as oracle_batch_size,
    case when not is_all then oracle_power_limit_w end as oracle_power_limit_w,
    case when not is_all then baseline_energy_j end as baseline_energy_j,
    case when not is_all then policy_energy_j end as policy_energy_j,
    case when not is_all then oracle_energy_j end as oracle_energy_j,
    cast(recurring_groups as bigint) as recurring_groups,
    cast(jobs as bigint) as jobs,
    cast(replayed_jobs as bigint) as replayed_jobs,
    default_energy_kwh,
    policy_energy_kwh,
    oracle_energy_kwh,
    default_time_h,
    policy_time_h,
    oracle_time_h,
    100.0 * (1 - policy_energy_kwh / nullif(default_energy_kwh, 0)) as policy_saved_pct,
    100.0 * (1 - oracle_energy_kwh / nullif(default_energy_kwh, 0)) as oracle_saved_pct
from summed
where with_total or not is_all
order by is_all, dataset, network;

comment on macro table zeus.recurring_replay is
'Jobs of recurring groups that the publisher mapped to the six workloads (alibaba_groups, jobs of PAI; '
'jobs of other data sets are left out), replayed as trainings to the default target on the chosen GPU, '
'per data set. Each training takes the mean epochs of its runs, times the time per epoch and average '
'power of its configuration; only configurations in which every run reached the target count. default is '
'the publisher''s default batch size, or the largest profiled on the GPU if that is smaller, at the '
'largest power limit in the GPU''s file. oracle is the configuration of least cost: eta times energy plus '
'(1 - eta) times that limit times time; of equal costs the smaller batch size, then the lower limit. '
'policy is the configuration of least cost among the batch sizes at the largest limit (batch_only), among '
'the limits at the default batch size (power_only), or the default or the oracle itself. '
'baseline_energy_j, policy_energy_j and oracle_energy_j are joules of one training and do not depend on '
'the schedule. Where the default did not reach its target or was not measured on the GPU, the columns of '
'the other policies are NULL too. The total row has no configuration and no joules. Energy in kWh and '
'hours are those of one training times runtime_ratio (run time of a job over the mean of its data set), '
'summed over the replayed jobs: jobs with a ratio, of a data set whose default reached its target on the '
'GPU; NULL without such jobs. policy_saved_pct and oracle_saved_pct are the percentages of '
'default_energy_kwh saved, NULL without replayed jobs. A group counts once in each data set in which it '
'has jobs. All jobs use the same configuration; the cost of searching for it is not included. Each '
'training uses one GPU, as measured.';
