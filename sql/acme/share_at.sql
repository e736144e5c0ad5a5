-- Share of samples equal to a value (Acme telemetry)
-- column: at_samples: Samples that have the value
-- column: at_pct: Share of the samples that have the value
-- chart: bar x=cluster y=at_pct yname=samples_of_this_value_pct
create or replace macro acme.share_at(
    on_metric varchar := 'GPU_UTIL',
    -- value, in the unit of the metric [-1000000000000000 to 1000000000000000]
    at_value double := 0
) as table
select
    cluster,
    metric,
    cast(sum(samples) as bigint) as samples,
    cast(coalesce(sum(samples) filter (where value = at_value), 0) as bigint) as at_samples,
    100.0 * coalesce(sum(samples) filter (where value = at_value), 0) / sum(samples) as at_pct
from acme.metric_histogram
where metric = on_metric
group by cluster, metric
order by cluster, metric;

comment on macro table acme.share_at is 'Samples per cluster, and samples equal to the value. Samples that are not whole numbers are rounded to four significant digits first.';
