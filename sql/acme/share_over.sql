-- Share of samples above a value (Acme telemetry)
-- column: over_samples: Samples above the value
-- column: over_pct: Share of the samples above the value
-- chart: bar x=cluster y=over_pct yname=samples_above_the_value_pct
create or replace macro acme.share_over(
    on_metric varchar := 'GPU_TEMP',
    -- value, in the unit of the metric [0 to 1000000000000000]
    over_value double := 65
) as table
select
    cluster,
    metric,
    cast(sum(samples) as bigint) as samples,
    cast(coalesce(sum(samples) filter (where value > over_value), 0) as bigint) as over_samples,
    100.0 * coalesce(sum(samples) filter (where value > over_value), 0) / sum(samples) as over_pct
from acme.metric_histogram
where metric = on_metric
group by cluster, metric
order by cluster, metric;

comment on macro table acme.share_over is 'Samples per cluster, and samples above the value. Samples that are not whole numbers are rounded to four significant digits first.';
