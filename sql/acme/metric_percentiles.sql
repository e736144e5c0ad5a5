-- Percentiles of a telemetry metric (Acme telemetry)
-- answers: CPU utilisation
-- caveat: acme.medians_differ_from_paper
-- chart: step x=value y=percentile color=cluster with=every_value xname={on_metric} yname=samples_pct
create or replace macro acme.metric_percentiles(
    on_metric varchar := 'GPU_UTIL',
    -- all 201 percentiles of acme.metric_cdf instead of eleven
    every_value boolean := false
) as table
select
    cluster,
    metric,
    percentile,
    value
from acme.metric_cdf
where
    metric = on_metric
    and (every_value or percentile in (0, 1, 5, 10, 25, 50, 75, 90, 95, 99, 100))
order by cluster, percentile;

comment on macro table acme.metric_percentiles is 'The least value that so many percent of all samples do not exceed, in the unit of the metric. Values other than whole numbers are rounded to four significant digits.';
