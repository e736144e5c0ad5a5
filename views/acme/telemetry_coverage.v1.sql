-- Coverage of the telemetry by metric: times, gaps, devices, samples and empty cells (Acme).
-- grain: one row per (cluster, source_table, metric)
-- source: README of AcmeTrace, Resource Utilization; Characterization of Large Language Model Development in the Datacenter (NSDI 2024) for the fleet
-- caveat: acme.capacity_from_paper
-- caveat: acme.device_names_vary: unattributed_devices
-- caveat: acme.dram_active_one_row
-- caveat: acme.node_memory_bad_columns: unattributed_devices samples empty_samples
-- caveat: acme.telemetry_covers_part: first_time last_time times median_gap_s max_gap_s
-- materialize: parquet per partition
create or replace view acme.telemetry_coverage_v1 as
with cells as (
    select
        cluster,
        'gpu_metric' as source_table,
        metric,
        node,
        gpu,
        device
    from acme.gpu_metric
    union all
    select
        cluster,
        'node_metric' as source_table,
        metric,
        node,
        cast(null as bigint) as gpu,
        device
    from acme.node_metric
),

times as (
    select
        cluster,
        source_table,
        metric,
        time,
        cells as listed,
        samples
    from acme.telemetry_time_v1
    union all
    select
        'seren' as cluster,
        'server_power' as source_table,
        server_group as metric,
        "Time" as time,
        count(*) as listed,
        count(*) as samples
    from acme.server_power
    group by server_group, "Time"
),

with_gaps as (
    select
        *,
        (
            epoch_us(time)
            - epoch_us(lag(time) over (partition by cluster, source_table, metric order by time))
        ) / 1000000.0 as gap_s
    from times
),

of_times as (
    select
        cluster,
        source_table,
        metric,
        min(time) as first_time,
        max(time) as last_time,
        count(time) as times,
        median(gap_s) as median_gap_s,
        max(gap_s) as max_gap_s,
        sum(samples) as samples,
        sum(listed) as listed
    from with_gaps
    group by cluster, source_table, metric
),

names as (
    select
        cluster,
        source_table,
        metric,
        node,
        gpu,
        device
    from cells
    group by cluster, source_table, metric, node, gpu, device
),

-- A node may have a column for each of its InfiniBand ports.
of_devices as (
    select
        cluster,
        source_table,
        metric,
        count(distinct case when node is not null then concat_ws('-', node, gpu) end) as devices,
        count(distinct device) filter (where node is null) as unattributed_devices
    from names
    group by cluster, source_table, metric
),

with_fleet as (
    select
        of_times.*,
        of_devices.devices,
        of_devices.unattributed_devices,
        case concat_ws(' ', of_times.source_table, of_times.cluster)
            when 'gpu_metric seren' then 2288
            when 'gpu_metric kalos' then 2416
            when 'node_metric seren' then 286
            when 'node_metric kalos' then 302
        end as published_devices
    from of_times
    left join of_devices
        on
            of_times.cluster = of_devices.cluster
            and of_times.source_table = of_devices.source_table
            and of_times.metric = of_devices.metric
)

select
    cluster,
    source_table,
    metric,
    first_time,
    last_time,
    times,
    median_gap_s,
    max_gap_s,
    devices,
    unattributed_devices,
    cast(samples as bigint) as samples,
    cast(listed - samples as bigint) as empty_samples,
    published_devices,
    100.0 * devices / published_devices as devices_pct
from with_fleet;

comment on column acme.telemetry_coverage_v1.cluster is 'Cluster: seren or kalos; measured.';
comment on column acme.telemetry_coverage_v1.source_table is 'Base table: gpu_metric, node_metric or server_power; derived.';
comment on column acme.telemetry_coverage_v1.metric is 'Metric, or types of server in server_power; measured.';
comment on column acme.telemetry_coverage_v1.first_time is 'First recorded time; derived.';
comment on column acme.telemetry_coverage_v1.last_time is 'Last recorded time; derived.';
comment on column acme.telemetry_coverage_v1.times is 'Distinct recorded times [times]; derived.';
comment on column acme.telemetry_coverage_v1.median_gap_s is 'Median gap from one time to the next, interpolated; derived.';
comment on column acme.telemetry_coverage_v1.max_gap_s is 'Longest gap from one time to the next; derived.';
comment on column acme.telemetry_coverage_v1.devices is 'GPUs or nodes that are listed, with or without samples; NULL for server_power, which names none; derived.';
comment on column acme.telemetry_coverage_v1.unattributed_devices is 'Device names that are no address, so that their samples belong to no known device; NULL for server_power; derived.';
comment on column acme.telemetry_coverage_v1.samples is 'Cells with a value, those of unattributed names included; rows of server_power; derived.';
comment on column acme.telemetry_coverage_v1.empty_samples is 'Cells without a value; 0 for server_power; derived.';
comment on column acme.telemetry_coverage_v1.published_devices is 'GPUs or nodes of the cluster, as the paper counts them; NULL for server_power; measured.';
comment on column acme.telemetry_coverage_v1.devices_pct is 'Devices in percent of published_devices; derived.';
