-- Distance from a published distribution (Acme telemetry)
-- resolves_caveat: acme.dram_active_one_row
-- resolves_caveat: acme.xid_is_a_latch
-- column: published_points [points]: Points of the published curve
-- column: largest_difference_pct [percentage points]: Largest difference between the published and the measured curve
create or replace macro acme.curve_distance(on_curve varchar := 'kalos.gpu_util_pct') as table
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

points as (
    select
        curve,
        percentile,
        stats.four_digits(value) as value
    from catalog.reference_curves
    where trace = 'acme' and curve = on_curve
),

shares as (
    select
        points.curve,
        points.percentile,
        points.value,
        100.0 * coalesce(sum(measured.samples) filter (where measured.value < points.value), 0)
        / nullif(sum(measured.samples), 0) as below_pct,
        100.0 * coalesce(sum(measured.samples) filter (where measured.value <= points.value), 0)
        / nullif(sum(measured.samples), 0) as up_to_pct
    from points
    left join measured on true
    group by points.curve, points.percentile, points.value
)

-- At a value shared by many samples, the curve rises from one share to the other; percentiles in between fit.
select
    curve,
    count(*) as published_points,
    max(
        case
            when up_to_pct is null then null
            else greatest(below_pct - percentile, percentile - up_to_pct, 0)
        end
    ) as largest_difference_pct
from shares
group by curve
order by curve;

comment on macro table acme.curve_distance is 'Number of points of the published curve, and the largest difference, in percentage points, between the curve and the share of samples up to the same value. Both sides are rounded to four significant digits. NULL where there are no samples.';
