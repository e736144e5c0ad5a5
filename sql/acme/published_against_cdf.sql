-- Published and measured distributions (Acme telemetry)
-- resolves_caveat: acme.dram_active_one_row
-- resolves_caveat: acme.xid_is_a_latch
-- chart: step x=value y=samples_pct color=origin xname={on_curve} title=Published and measured distribution (Acme telemetry)
-- column: cluster: Cluster, or all
-- column: origin: Origin of a figure: published or measured
-- column: value [no unit]: Value, in the unit of the metric or curve
-- column: samples_pct: Share of the samples that do not exceed the value
-- column: samples: Samples of the whole curve, the same in each row
create or replace macro acme.published_against_cdf(on_curve varchar := 'kalos.gpu_util_pct') as table
with samples as (
    select
        samples,
        value / case when split_part(on_curve, '.', 2) = 'gpu_memory_used_pct' then 819.2 else 1 end as value
    from acme.metric_histogram
    where
        cluster = split_part(on_curve, '.', 1)
        and metric = case split_part(on_curve, '.', 2)
            when 'gpu_power_w' then 'POWER_USAGE'
            when 'gpu_temp_c' then 'GPU_TEMP'
            when 'memory_temp_c' then 'MEMORY_TEMP'
            when 'gpu_util_pct' then 'GPU_UTIL'
            when 'gpu_memory_used_pct' then 'FB_USED'
            when 'sm_active_pct' then 'SM_ACTIVE'
            when 'sm_occupancy_pct' then 'SM_OCCUPANCY'
            when 'curve4_pct' then 'PIPE_TENSOR_ACTIVE'
            when 'node_cpu_util_pct' then 'NODE_CPU_UTILIZATION'
            when 'node_memory_util_pct' then 'NODE_MEMORY_UTILIZATION'
            when 'ib_send' then 'NODE_IB_SEND'
            when 'ib_receive' then 'NODE_IB_RECEIVE'
        end
    union all
    select
        1 as samples,
        "Sys_Total_Power" as value
    from acme.server_power
    where
        "Sys_Total_Power" is not null
        and (
            (on_curve = 'seren.gpu_server_power_w' and server_group in ('GPU_AB', 'GPU_C'))
            or (on_curve = 'seren.cpu_server_power_w' and server_group = 'CPU_D')
        )
),

-- Rounds both sides to four significant digits: published values with five digits would miss their samples.
measured as (
    select
        stats.four_digits(value) as value,
        sum(samples) as samples
    from samples
    group by all
),

published as (
    select
        curve,
        split_part(curve, '.', 1) as cluster,
        percentile,
        stats.four_digits(value) as value
    from catalog.reference_curves
    where trace = 'acme' and curve = on_curve
),

-- If many samples have the same value, the largest percentile of the value is the share up to it.
points as (
    select
        curve,
        cluster,
        value,
        max(percentile) as published_pct
    from published
    group by curve, cluster, value
),

compared as (
    select
        points.curve,
        points.cluster,
        points.value,
        points.published_pct,
        cast(coalesce(sum(measured.samples), 0) as bigint) as samples,
        100.0 * coalesce(sum(measured.samples) filter (where measured.value <= points.value), 0)
        / nullif(sum(measured.samples), 0) as measured_pct
    from points
    left join measured on true
    group by points.curve, points.cluster, points.value, points.published_pct
),

origins as (
    select unnest(['published', 'measured']) as origin
)

select
    compared.curve,
    compared.cluster,
    origins.origin,
    compared.value,
    case origins.origin
        when 'published' then compared.published_pct
        else compared.measured_pct
    end as samples_pct,
    case when origins.origin = 'measured' then compared.samples end as samples
from compared
cross join origins
order by origins.origin desc, compared.value asc;

comment on macro table acme.published_against_cdf is
'Two rows per value of the published curve, rounded to four significant digits: one with origin '
'published, one with origin measured. samples_pct is the percentage of samples that do not exceed the '
'value. In published rows it is the largest percentile at which catalog.reference_curves, a thinned copy '
'of the curve, has the value; where many samples share a value, the true share may be slightly larger. '
'Measured rows use all samples of the metric that the curve is about, rounded to four significant digits '
'too. FB_USED is in percent of 80 GiB. curve4_pct uses PIPE_TENSOR_ACTIVE. gpu_server_power_w uses '
'Sys_Total_Power of GPU_AB and GPU_C, and cpu_server_power_w that of CPU_D. The name of the curve ends '
'with the unit of the values; ib_send and ib_receive have no stated unit. samples is the number of '
'measured samples, NULL in published rows, where it is unknown; where it is 0, the measured samples_pct '
'is NULL.';
